import { isoOrNull } from '../delivery/index.ts'
import type { Audience, MembershipChange } from './audience.ts'
import type { RemovalOutcome } from './remove-audience.ts'
import type { SyncOutcome } from './sync-audience.ts'
import type { RejectedRow, SyncCounts } from './sync-listener.ts'

/** Makes the record of an audience or computed trait. */
export function audienceRecord(audience: Audience) {
  return { kind: 'audience' as const, ...audienceFields(audience) }
}

/** Makes the fields of a member, or of a change to one. */
export function memberFields({ identity, value }: MembershipChange) {
  const { userId, anonymousId, email } = identity
  const parsed = value === null ? null : (JSON.parse(value) as unknown)
  return { userId, anonymousId, email, value: parsed }
}

/** Makes the record of a change; its value is null if the member leaves. */
export function changeRecord(change: MembershipChange) {
  return { kind: 'change' as const, ...memberFields(change) }
}

/** Makes a record of kind `rejected`, without the row's content. */
export function rejectedRecord({ line, code, message }: RejectedRow) {
  return { kind: 'rejected' as const, line, code, message }
}

/** Makes a record of kind `progress`: the counts so far. */
export function progressRecord(counts: SyncCounts) {
  return { kind: 'progress' as const, ...countFields(counts) }
}

/** Makes the record of a dry run's progress: the number of stored members read so far. */
export function comparingRecord(members: number) {
  return { kind: 'comparing' as const, members }
}

interface Trial {
  /** Whether this was a dry run, so that nothing was stored or sent. */
  readonly isDryRun: boolean
}

/** Makes a record of kind `sync`: the outcome, the audience and the counts. */
export function syncRecord(
  { kind, audience, counts }: Exclude<SyncOutcome, { kind: 'taken' }>,
  { isDryRun: dryRun }: Trial,
) {
  const fields = { audience: audienceFields(audience), ...countFields(counts) }
  return { kind: 'sync' as const, outcome: kind, dryRun, ...fields }
}

/** Makes a record of kind `removal`: the outcome, the audience and the number of users who left. */
export function removalRecord(
  { kind, audience, left }: RemovalOutcome,
  { isDryRun: dryRun }: Trial,
) {
  const fields = { audience: audienceFields(audience), left }
  return { kind: 'removal' as const, outcome: kind, dryRun, ...fields }
}

function audienceFields(audience: Audience) {
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

/** Lists the fields one by one, to give them this order. */
function countFields(counts: SyncCounts) {
  const { read, rejected, entered, changed, left, unchanged, suppressed } = counts
  return { read, rejected, entered, changed, left, unchanged, suppressed }
}
