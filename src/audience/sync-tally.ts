import type { TakeOutcome } from './store-port.ts'
import type { SyncCounts } from './sync-listener.ts'

/** The counts of a sync that has done nothing. */
export const noSyncCounts: SyncCounts = {
  read: 0,
  rejected: 0,
  entered: 0,
  changed: 0,
  left: 0,
  unchanged: 0,
  suppressed: 0,
}

/** Counts what a sync does. */
export class SyncTally {
  readonly #counts: Record<keyof SyncCounts, number> = { ...noSyncCounts }

  /** What was counted so far; it stays as it is. */
  counts(): SyncCounts {
    return { ...this.#counts }
  }

  /** Counts some more. */
  add(name: keyof SyncCounts, more = 1): void {
    this.#counts[name] += more
  }

  /** Counts what became of members; who stands in the list again is the same member. */
  addOutcomes(outcomes: readonly TakeOutcome[]): void {
    for (const outcome of outcomes) {
      if (outcome !== 'repeated' && outcome !== 'contradicted') this.add(outcome)
    }
  }
}
