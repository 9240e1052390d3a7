import type { AudienceRemoveOutcome, AudienceSyncOutcome } from '../admin-api/index.ts'
import type { Log } from '../runtime/index.ts'

/** Logs the outcome of a sync, without user ids. */
export function logSync(outcome: AudienceSyncOutcome, log: Log): void {
  if (!('counts' in outcome)) return
  const { kind, audience, counts } = outcome
  const { key, computationClass } = audience
  const { entered, changed, left, rejected } = counts
  const isWhole = kind === 'synced' || kind === 'incomplete'
  log.info(isWhole ? 'an audience was synced' : 'a sync of an audience ended early', {
    ...{ key, class: computationClass, outcome: kind },
    ...{ entered, changed, left, rejected },
  })
}

/** Logs the outcome of a removal. */
export function logRemoval(outcome: AudienceRemoveOutcome, log: Log): void {
  if (!('left' in outcome)) return
  const { kind, audience, left } = outcome
  const { key, computationClass } = audience
  const isWhole = kind === 'removed'
  log.info(isWhole ? 'an audience was removed' : 'a removal of an audience ended early', {
    ...{ key, class: computationClass, outcome: kind, left },
  })
}
