import type { Member, MembershipChange, TakeOutcome } from '../../audience/index.ts'
import { toStored } from '../stored-text.ts'

/** The stored facts about a line of a list. */
export interface KnownLine {
  /** The stored member that the line names, if there is one. */
  readonly kept: { readonly number: number; readonly value: string } | undefined
  readonly isSuppressed: boolean
  readonly key: string
}

/** A new member, or one with a new value. */
interface WrittenMember {
  readonly member: Member
  /** The index of the member in the part. */
  readonly index: number
  readonly number: number
  readonly value: string
}

/** The result of syncing a part of a list. */
export interface TakenPart {
  readonly kind: 'taken'
  readonly outcomes: readonly TakeOutcome[]
  readonly changes: readonly MembershipChange[]
  readonly written: readonly WrittenMember[]
  /** The members in this part of the list, by their numbers in the database. */
  readonly listed: ReadonlySet<number>
  readonly entered: number
}

interface PartRequest {
  readonly members: readonly Member[]
  readonly known: readonly KnownLine[]
  readonly nextNumber: number
  /** Whether an earlier part of the list named the member with this number. */
  readonly wasListed: (number: number) => boolean
}

/** Decides the outcome of each line in one part of a list. */
export function takePart({ members, known, nextNumber, wasListed }: PartRequest): TakenPart {
  const written = new Map<string, WrittenMember>()
  const listed = new Set<number>()
  let entered = 0
  const outcomes = members.map((member, index): TakeOutcome => {
    const line = known[index]
    if (line === undefined) throw new Error('the store returned nothing about a line of the list')
    const { isSuppressed, key } = line
    const kept = written.get(key) ?? line.kept
    const number = kept?.number ?? nextNumber + entered
    const isListed = listed.has(number) || wasListed(number)
    const value = toStored(member.value)
    const outcome = isSuppressed ? 'suppressed' : outcomeOf(value, kept?.value, isListed)
    if (outcome === 'entered') entered++
    if (outcome === 'entered' || kept !== undefined) listed.add(number)
    if (isNews(outcome)) written.set(key, { member, index, number, value })
    return outcome
  })
  const all = [...written.values()]
  const changes = all.map(({ member: { identity, value } }) => ({ identity, value }))
  return { kind: 'taken', outcomes, changes, written: all, listed, entered }
}

function outcomeOf(value: string, before: string | undefined, isListed: boolean): TakeOutcome {
  if (before === undefined) return 'entered'
  if (before === value) return isListed ? 'repeated' : 'unchanged'
  return isListed ? 'contradicted' : 'changed'
}

/** Tells whether destinations receive a call about an outcome. */
function isNews(outcome: TakeOutcome): boolean {
  return outcome === 'entered' || outcome === 'changed'
}
