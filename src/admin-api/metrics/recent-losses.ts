import type { Clock } from '../../runtime/index.ts'

/** Deliveries of one destination that failed or expired. */
export interface Losses {
  readonly deliveries: number
  readonly sinceMs: number
  readonly lastMs: number
  /** Why they were not delivered: each error once, at most the first ten. */
  readonly reasons: readonly string[]
}

/** After this time without a loss, earlier losses are forgotten. */
const quietMs = 60 * 60_000

const reasonsMax = 10

/** Counts the failed and expired deliveries of each destination. Starts over after `quietMs` without any. */
export class RecentLosses {
  readonly #clock: Pick<Clock, 'nowMs'>
  readonly #losses = new Map<string, Losses>()

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock
  }

  /** Adds deliveries that have just been lost. `reason` lists one or more errors, such as `timeout, status_503`. */
  count(destinationId: string, reason: string, deliveries: number): void {
    const lastMs = this.#clock.nowMs()
    const {
      deliveries: before = 0,
      sinceMs = lastMs,
      reasons: known = [],
    } = this.of(destinationId) ?? {}
    const reasons = [...new Set([...known, ...reason.split(', ')])].slice(0, reasonsMax)
    // Keeps the destinations in the order of their last losses.
    this.#losses.delete(destinationId)
    for (const id of this.#losses.keys()) {
      if (this.of(id) !== undefined) break
      this.#losses.delete(id)
    }
    this.#losses.set(destinationId, { deliveries: before + deliveries, sinceMs, lastMs, reasons })
  }

  /** Returns the losses of a destination; undefined if there were none for an hour. */
  of(destinationId: string): Losses | undefined {
    const losses = this.#losses.get(destinationId)
    const isRecent = losses !== undefined && this.#clock.nowMs() - losses.lastMs < quietMs
    return isRecent ? losses : undefined
  }
}
