import type { DueTime } from '../../delivery/index.ts'
import { stopwatch } from '../../runtime/index.ts'

/** A lane of a destination. */
type LaneOf = Pick<DueTime, 'destinationId' | 'lane'>

/** The place at which claims of a lane begin; times are in milliseconds since 1970. */
interface ClaimPlace {
  /** As far as known, nothing that is due earlier can be claimed. */
  dueFromMs: number
  /** The earliest due time that came since the last claim began; Infinity for none. */
  cameMs: number
  /** When a claim last began at the start of the lane, by the clock of this class. */
  lookedBackMs: number
}

/**
 * How often a claim begins at the start of its lane, to find deliveries of other processes whose
 * notification was lost.
 */
const lookBackEveryMs = 5_000

/**
 * With more lanes than this, all places are forgotten and claims begin at the start of their lanes.
 */
const lanesMax = 100_000

/**
 * Remembers how far claims of each lane have come. While an old snapshot is held, as by `pg_dump`, the
 * server keeps index entries of deliveries that were settled. Without a place to begin at, every claim
 * reads all of these entries.
 */
export class ClaimPlaces {
  readonly #places = new Map<string, ClaimPlace>()
  readonly #elapsedMs: () => number

  /** @param elapsedMs - a clock that is never set */
  constructor(elapsedMs: () => number = stopwatch()) {
    this.#elapsedMs = elapsedMs
  }

  /** The due time at which a claim begins. From time to time it is the start of the lane. */
  claimFrom(lane: LaneOf): number {
    const dueFromMs = this.lookFrom(lane)
    const place = this.#places.get(keyOf(lane))
    if (place !== undefined) place.cameMs = Infinity
    return dueFromMs
  }

  /** The due time at which a search for the next delivery begins. It claims nothing. */
  lookFrom(lane: LaneOf): number {
    const nowMs = this.#elapsedMs()
    const place = this.#places.get(keyOf(lane))
    if (place === undefined) {
      if (this.#places.size >= lanesMax) this.#places.clear()
      this.#places.set(keyOf(lane), { dueFromMs: 0, cameMs: Infinity, lookedBackMs: nowMs })
      return 0
    }
    if (nowMs - place.lookedBackMs < lookBackEveryMs) return place.dueFromMs
    place.lookedBackMs = nowMs
    return 0
  }

  /**
   * Notes that a claim took everything up to a moment, except deliveries that came after it began.
   */
  passed({ dueAtMs, ...lane }: DueTime): void {
    const place = this.#places.get(keyOf(lane))
    if (place !== undefined) place.dueFromMs = Math.min(dueAtMs, place.cameMs)
  }

  /** Notes that a delivery is due. Claims that would begin later begin there. */
  add({ dueAtMs, ...lane }: DueTime): void {
    const place = this.#places.get(keyOf(lane))
    if (place === undefined) return
    place.dueFromMs = Math.min(dueAtMs, place.dueFromMs)
    place.cameMs = Math.min(dueAtMs, place.cameMs)
  }

  /** Notes that anything may be due. */
  clear(): void {
    this.#places.clear()
  }
}

function keyOf({ destinationId, lane }: LaneOf): string {
  return `${lane} ${destinationId}`
}
