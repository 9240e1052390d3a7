import { isoOrNull } from '../delivery/index.ts'
import type { Audience, Member, MembershipChange } from './audience.ts'
import type { RemovalOutcome } from './remove-audience.ts'
import type { RejectedRow, SyncCounts, SyncOutcome } from './sync-audience.ts'

/** What audiences tell programs, as JSON; the names are part of every interface. */
export type AudienceRecord = Readonly<Record<string, unknown>>

/** An audience, or a computed trait, in a record. Moments are UTC, ISO 8601. */
export interface AudienceFields extends AudienceRecord {
  readonly key: string
  readonly name: string
  readonly class: Audience['computationClass']
  readonly computationId: string
  readonly source: string
  /** How many members it has. */
  readonly members: number
  readonly createdAt: string | null
  /** When a sync last came to its end; null before the first. */
  readonly syncedAt: string | null
}

/** A member in the record of its audience. */
export interface MemberFields extends AudienceRecord {
  readonly userId: string | null
  readonly anonymousId: string | null
  readonly email: string | null
  /** The value of a computed trait, true in an audience; null for a member that leaves. */
  readonly value: unknown
}

/** An audience, or a computed trait, as a record for programs. */
export function audienceRecord(audience: Audience): AudienceFields {
  return { kind: 'audience', ...audienceFields(audience) }
}

/** A member as it stands in the record of its audience. */
export function memberFields({ identity, value }: Member): MemberFields {
  return changeFields({ identity, value })
}

/** What becomes different for a member as a record for programs; the value is null for who leaves. */
export function changeRecord(change: MembershipChange): AudienceRecord {
  return { kind: 'change', ...changeFields(change) }
}

/** A row that cannot be used as a record for programs. */
export function rejectedRecord({ line, code, message }: RejectedRow): AudienceRecord {
  return { kind: 'rejected', line, code, message }
}

/** What a sync has done so far as a record for programs. */
export function progressRecord(counts: SyncCounts): AudienceRecord {
  return { kind: 'progress', ...countFields(counts) }
}

/** How many members that are kept a dry run has read, as a record for programs. */
export function comparingRecord(members: number): AudienceRecord {
  return { kind: 'comparing', members }
}

/** Whether something was only tried. */
export interface Trial {
  /** Whether nothing was stored and nothing sent. */
  readonly isDryRun: boolean
}

/** What became of a sync that began as a record for programs. */
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

/** What became of the removal of an audience as a record for programs. */
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

/** Field by field, so that their order is always the same. */
function countFields(counts: SyncCounts): AudienceRecord {
  const { read, rejected, entered, changed, left, unchanged, suppressed } = counts
  return { read, rejected, entered, changed, left, unchanged, suppressed }
}
