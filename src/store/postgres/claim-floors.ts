import type { DueTime } from '../../delivery/index.ts'
import { stopwatch } from '../../runtime/index.ts'

type LaneOf = Pick<DueTime, 'destinationId' | 'lane'>

/** The due time where a lane's claims begin. Times are in milliseconds since 1970. */
interface Floor {
  /** No claimable delivery is known to be due earlier. */
  fromMs: number
  /** The earliest due time added since the last claim began; Infinity if none. */
  addedMs: number
}

/** How often claims start over at the beginning of their lanes, to find deliveries whose notification was lost. */
const lookBackEveryMs = 5_000

/** Maximum number of floors. At this number, all are forgotten. */
const lanesMax = 100_000

/**
 * Remembers how far the claims in each lane have got. While a transaction such as `pg_dump` holds an old
 * snapshot, the server keeps the index entries of settled deliveries, and without a lower bound, every claim
 * would read them all.
 */
export class ClaimFloors {
  readonly #floors = new Map<string, Floor>()
  readonly #elapsedMs: () => number
  #clearedMs = 0

  /** @param elapsedMs - a monotonic clock */
  constructor(elapsedMs: () => number = stopwatch()) {
    this.#elapsedMs = elapsedMs
  }

  /** Returns the due time from which to claim; call it right before the claim. */
  claimFrom(lane: LaneOf): number {
    const floor = this.#floorOf(lane)
    floor.addedMs = Infinity
    return floor.fromMs
  }

  /** Returns the due time from which to look for deliveries without claiming them. */
  lookFrom(lane: LaneOf): number {
    return this.#floorOf(lane).fromMs
  }

  /** Raises the floor to the due time of a claimed delivery, or of an earlier one added during the claim. */
  passed({ dueAtMs, ...lane }: DueTime): void {
    const floor = this.#floors.get(keyOf(lane))
    if (floor !== undefined) floor.fromMs = Math.min(dueAtMs, floor.addedMs)
  }

  /** Records when a delivery is due, so that the next claim searches from this time or an earlier one. */
  add({ dueAtMs, ...lane }: DueTime): void {
    const floor = this.#floors.get(keyOf(lane))
    if (floor === undefined) return
    floor.fromMs = Math.min(dueAtMs, floor.fromMs)
    floor.addedMs = Math.min(dueAtMs, floor.addedMs)
  }

  /** Makes the next claims start over at the beginning of their lanes. */
  clear(): void {
    this.#floors.clear()
    this.#clearedMs = this.#elapsedMs()
  }

  #floorOf(lane: LaneOf): Floor {
    const isOld = this.#elapsedMs() - this.#clearedMs >= lookBackEveryMs
    if (isOld || this.#floors.size >= lanesMax) this.clear()
    const known = this.#floors.get(keyOf(lane))
    if (known !== undefined) return known
    const floor = { fromMs: 0, addedMs: Infinity }
    this.#floors.set(keyOf(lane), floor)
    return floor
  }
}

function keyOf({ destinationId, lane }: LaneOf): string {
  return `${lane} ${destinationId}`
}
