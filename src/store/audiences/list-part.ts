import type { Member, MembershipChange, TakeOutcome } from '../../audience/index.ts'
import { toStored } from '../stored-text.ts'

/** What the database has of a line of a list. */
export interface KnownLine {
  /** The member that the line names, when it is one already. */
  readonly kept: { readonly number: number; readonly value: string } | undefined
  /** Whether the calls of the user are dropped. */
  readonly isSuppressed: boolean
  /** Tells the member from every other. */
  readonly key: string
}

/** A member that enters, or has another value now. */
export interface WrittenMember {
  readonly member: Member
  /** Where it stands in the list. */
  readonly place: number
  readonly number: number
  /** As it is stored. */
  readonly value: string
}

/** What becomes of part of a list. */
export interface TakenPart {
  readonly outcomes: readonly TakeOutcome[]
  readonly changes: readonly MembershipChange[]
  readonly written: readonly WrittenMember[]
  /** The numbers of the members that it names. */
  readonly listed: ReadonlySet<number>
  /** How many of them were none before. */
  readonly entered: number
}

/** What a part is decided with. */
interface PartRequest {
  readonly members: readonly Member[]
  /** What is known of each of them. */
  readonly known: readonly KnownLine[]
  /** The number of the next one who enters. */
  readonly nextNumber: number
  /** Tells whom parts before this one have named. */
  readonly wasListed: (number: number) => boolean
}

/** Decides what becomes of each line of a part of a list. */
export function takePart({ members, known, nextNumber, wasListed }: PartRequest): TakenPart {
  const written = new Map<string, WrittenMember>()
  const listed = new Set<number>()
  let entered = 0
  const outcomes = members.map((member, place): TakeOutcome => {
    const line = known[place]
    if (line === undefined) throw new Error('nothing is known of a line')
    const { isSuppressed, key } = line
    const kept = written.get(key) ?? line.kept
    const number = kept?.number ?? nextNumber + entered
    const isListed = listed.has(number) || wasListed(number)
    const value = toStored(member.value)
    const outcome = isSuppressed ? 'suppressed' : outcomeOf(value, kept?.value, isListed)
    if (outcome === 'entered') entered++
    if (outcome === 'entered' || kept !== undefined) listed.add(number)
    if (isNews(outcome)) written.set(key, { member, place, number, value })
    return outcome
  })
  const all = [...written.values()]
  const changes = all.map(({ member: { identity, value } }) => ({ identity, value }))
  return { outcomes, changes, written: all, listed, entered }
}

function outcomeOf(value: string, before: string | undefined, isListed: boolean): TakeOutcome {
  if (before === undefined) return 'entered'
  if (before === value) return isListed ? 'repeated' : 'unchanged'
  return isListed ? 'contradicted' : 'changed'
}

/** Tells whether destinations are told of it. */
function isNews(outcome: TakeOutcome): boolean {
  return outcome === 'entered' || outcome === 'changed'
}
