import type { TakeOutcome } from './store-port.ts'
import type { SyncCounts } from './sync-listener.ts'

/** The counts at the beginning of a sync. */
export const noSyncCounts: SyncCounts = {
  read: 0,
  rejected: 0,
  entered: 0,
  changed: 0,
  left: 0,
  unchanged: 0,
  suppressed: 0,
}

/** The counts of a sync in progress. */
export class SyncTally {
  readonly #counts: Record<keyof SyncCounts, number> = { ...noSyncCounts }

  /** Returns a copy of the counts so far. */
  counts(): SyncCounts {
    return { ...this.#counts }
  }

  /** Adds to one count. */
  add(name: keyof SyncCounts, more = 1): void {
    this.#counts[name] += more
  }

  /** Counts the outcomes for members. A member that the list repeats counts once. */
  addOutcomes(outcomes: readonly TakeOutcome[]): void {
    for (const outcome of outcomes) {
      if (outcome !== 'repeated' && outcome !== 'contradicted') this.add(outcome)
    }
  }
}
