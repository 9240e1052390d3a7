import { isoOrNull } from '../delivery/index.ts'
import type { Audience, Member, MembershipChange } from './audience.ts'
import type { RemovalOutcome } from './remove-audience.ts'
import type { RejectedRow, SyncCounts, SyncOutcome } from './sync-audience.ts'

/** A JSON record about audiences. Its field names are part of the public interface. */
export type AudienceRecord = Readonly<Record<string, unknown>>

/** An audience, or a computed trait, in a record. Times are UTC in ISO 8601. */
export interface AudienceFields extends AudienceRecord {
  readonly key: string
  readonly name: string
  readonly class: Audience['computationClass']
  readonly computationId: string
  readonly source: string
  /** Number of members. */
  readonly members: number
  readonly createdAt: string | null
  /** When the last complete sync ended; null if none has. */
  readonly syncedAt: string | null
}

/** A member in the record of its audience. */
export interface MemberFields extends AudienceRecord {
  readonly userId: string | null
  readonly anonymousId: string | null
  readonly email: string | null
  /** True in an audience, the value of a computed trait; null for a member that leaves. */
  readonly value: unknown
}

/** Turns an audience or computed trait into a record for programs. */
export function audienceRecord(audience: Audience): AudienceFields {
  return { kind: 'audience', ...audienceFields(audience) }
}

/** Turns a member into an entry of its audience's record. */
export function memberFields({ identity, value }: Member): MemberFields {
  return changeFields({ identity, value })
}

/** Turns a change of a member into a record for programs. The value is null if the member leaves. */
export function changeRecord(change: MembershipChange): AudienceRecord {
  return { kind: 'change', ...changeFields(change) }
}

/** Turns a rejected row into a record for programs. */
export function rejectedRecord({ line, code, message }: RejectedRow): AudienceRecord {
  return { kind: 'rejected', line, code, message }
}

/** Turns the progress of a sync into a record for programs. */
export function progressRecord(counts: SyncCounts): AudienceRecord {
  return { kind: 'progress', ...countFields(counts) }
}

/** Turns the progress of a dry run, the number of stored members read so far, into a record for programs. */
export function comparingRecord(members: number): AudienceRecord {
  return { kind: 'comparing', members }
}

/** Whether a run is a dry run. */
export interface Trial {
  /** If true, nothing was stored or sent. */
  readonly isDryRun: boolean
}

/** Turns the result of a sync into a record for programs. */
export function syncRecord(
  outcome: Exclude<SyncOutcome, { kind: 'taken' }>,
  { isDryRun }: Trial,
): AudienceRecord {
  const { kind, audience, counts } = outcome
  return {
    kind: 'sync',
    outcome: kind,
    dryRun: isDryRun,
    audience: audienceFields(audience),
    ...countFields(counts),
  }
}

/** Turns the result of a removal into a record for programs. */
export function removalRecord(
  { kind, audience, left }: RemovalOutcome,
  { isDryRun }: Trial,
): AudienceRecord {
  return {
    kind: 'removal',
    outcome: kind,
    dryRun: isDryRun,
    audience: audienceFields(audience),
    left,
  }
}

function audienceFields(audience: Audience): AudienceFields {
  const { key, name, computationClass, computationId, sourceId, members } = audience
  return {
    key,
    name,
    class: computationClass,
    computationId,
    source: sourceId,
    members,
    createdAt: isoOrNull(audience.createdAtMs),
    syncedAt: isoOrNull(audience.syncedAtMs),
  }
}

function changeFields({ identity, value }: MembershipChange): MemberFields {
  const { userId, anonymousId, email } = identity
  const parsed = value === null ? null : (JSON.parse(value) as unknown)
  return { userId, anonymousId, email, value: parsed }
}

/** Copies the fields one by one, so that records have them in this order. */
function countFields(counts: SyncCounts): AudienceRecord {
  const { read, rejected, entered, changed, left, unchanged, suppressed } = counts
  return { read, rejected, entered, changed, left, unchanged, suppressed }
}
