import type { DueTime } from '../../delivery/index.ts'
import { stopwatch } from '../../runtime/index.ts'

type LaneOf = Pick<DueTime, 'destinationId' | 'lane'>

/** The lower bound of the claims of a lane. Times are in milliseconds since 1970. */
interface Floor {
  /** Claims begin here: no delivery that can be claimed is known to be due earlier. */
  fromMs: number
  /** The earliest due time that was added since the last claim began; Infinity for none. */
  addedMs: number
}

/**
 * Claims start from the beginning of their lanes again after this time, to find deliveries whose notification
 * from another process was lost.
 */
const lookBackEveryMs = 5_000

/** The maximum number of floors. When it is reached, all floors are forgotten. */
const lanesMax = 100_000

/**
 * Remembers how far the claims of each lane have got. While a transaction holds an old snapshot, as
 * `pg_dump` does, the server keeps the index entries of settled deliveries. Without a lower bound, every
 * claim reads all of these entries.
 */
export class ClaimFloors {
  readonly #floors = new Map<string, Floor>()
  readonly #elapsedMs: () => number
  #clearedMs = 0

  /** @param elapsedMs - a monotonic clock */
  constructor(elapsedMs: () => number = stopwatch()) {
    this.#elapsedMs = elapsedMs
  }

  /** Returns the due time at which a claim begins. */
  claimFrom(lane: LaneOf): number {
    const floor = this.#floorOf(lane)
    floor.addedMs = Infinity
    return floor.fromMs
  }

  /** Returns the due time at which a search without a claim begins. */
  lookFrom(lane: LaneOf): number {
    return this.#floorOf(lane).fromMs
  }

  /** Records that a claim took everything up to a time, except deliveries that were added since it began. */
  passed({ dueAtMs, ...lane }: DueTime): void {
    const floor = this.#floors.get(keyOf(lane))
    if (floor !== undefined) floor.fromMs = Math.min(dueAtMs, floor.addedMs)
  }

  /** Records that a delivery is due, so that claims begin no later than its due time. */
  add({ dueAtMs, ...lane }: DueTime): void {
    const floor = this.#floors.get(keyOf(lane))
    if (floor === undefined) return
    floor.fromMs = Math.min(dueAtMs, floor.fromMs)
    floor.addedMs = Math.min(dueAtMs, floor.addedMs)
  }

  /** Forgets all floors, because any delivery may be due. */
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
