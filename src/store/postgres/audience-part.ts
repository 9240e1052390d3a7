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
    const kept = written.get(line.key) ?? line.kept
    const isListed = kept !== undefined && (listed.has(kept.number) || wasListed(kept.number))
    if (kept !== undefined) listed.add(kept.number)
    if (line.isSuppressed) return 'suppressed'
    const value = toStored(member.value)
    if (kept?.value === value) return isListed ? 'repeated' : 'unchanged'
    if (isListed) return 'contradicted'
    const number = kept?.number ?? nextNumber + entered
    if (kept === undefined) entered++
    listed.add(number)
    written.set(line.key, { member, number, value })
    return kept === undefined ? 'entered' : 'changed'
  })
  const all = [...written.values()]
  const changes = all.map(({ member: { identity, value } }) => ({ identity, value }))
  return { outcomes, changes, written: all, listed, entered }
}
