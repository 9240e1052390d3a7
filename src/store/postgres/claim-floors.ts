import type { DueTime } from '../../delivery/index.ts'
import { stopwatch } from '../../runtime/index.ts'

/** A lane of a destination. */
type LaneOf = Pick<DueTime, 'destinationId' | 'lane'>

/** Where claims of a lane begin; times are in milliseconds since 1970. */
interface Floor {
  /** As far as known, nothing that is due earlier can be claimed. */
  fromMs: number
  /** The earliest due time that was added since the last claim began; Infinity for none. */
  addedMs: number
}

/**
 * How often claims begin at the start of their lanes, to find deliveries of other processes whose
 * notification was lost.
 */
const lookBackEveryMs = 5_000

/** With more lanes than this, claims begin at the start of their lanes. */
const lanesMax = 100_000

/**
 * Remembers how far claims of each lane have come. While an old snapshot is held, as by `pg_dump`, the
 * server keeps index entries of deliveries that were settled. Without a lower bound, every claim reads
 * all of these entries.
 */
export class ClaimFloors {
  readonly #floors = new Map<string, Floor>()
  readonly #elapsedMs: () => number
  #clearedMs = 0

  /** @param elapsedMs - a clock that is never set */
  constructor(elapsedMs: () => number = stopwatch()) {
    this.#elapsedMs = elapsedMs
  }

  /** The due time at which a claim begins. */
  claimFrom(lane: LaneOf): number {
    const floor = this.#floorOf(lane)
    floor.addedMs = Infinity
    return floor.fromMs
  }

  /** The due time at which a search for the next delivery begins. It claims nothing. */
  lookFrom(lane: LaneOf): number {
    return this.#floorOf(lane).fromMs
  }

  /** Notes that a claim took everything up to a time, except deliveries that were added since it began. */
  passed({ dueAtMs, ...lane }: DueTime): void {
    const floor = this.#floors.get(keyOf(lane))
    if (floor !== undefined) floor.fromMs = Math.min(dueAtMs, floor.addedMs)
  }

  /** Notes that a delivery is due. Claims that would begin later begin there. */
  add({ dueAtMs, ...lane }: DueTime): void {
    const floor = this.#floors.get(keyOf(lane))
    if (floor === undefined) return
    floor.fromMs = Math.min(dueAtMs, floor.fromMs)
    floor.addedMs = Math.min(dueAtMs, floor.addedMs)
  }

  /** Notes that anything may be due. */
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
