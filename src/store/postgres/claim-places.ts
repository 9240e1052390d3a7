import type { DueTime } from '../../delivery/index.ts'
import { stopwatch } from '../../runtime/index.ts'

/** A lane of a destination. */
type LaneOf = Pick<DueTime, 'destinationId' | 'lane'>

/** Where claims of a lane begin; times are in milliseconds since 1970. */
interface ClaimPlace {
  /** Nothing that is due before can be claimed, as far as known. */
  dueFromMs: number
  /** The earliest that came since the last claim began; Infinity for nothing. */
  cameMs: number
  /** When the lane was last looked at from its beginning, by the clock of this class. */
  lookedBackMs: number
}

/** How often a lane is claimed from its beginning, for what another process has left there unheard. */
const lookBackEveryMs = 5_000

/** Beyond so many lanes, claims begin anew. */
const lanesMax = 100_000

/**
 * Remembers where claims of each lane have come to. While an old snapshot is held, as by `pg_dump`, the server
 * keeps index entries of deliveries that were settled: without a place to begin at, every claim walks them all.
 */
export class ClaimPlaces {
  readonly #places = new Map<string, ClaimPlace>()
  readonly #elapsedMs: () => number

  /** @param elapsedMs - tells the time, by a clock that nobody sets */
  constructor(elapsedMs: () => number = stopwatch()) {
    this.#elapsedMs = elapsedMs
  }

  /** Where a claim begins: now and then at the beginning of its lane. */
  claimFrom(lane: LaneOf): number {
    const dueFromMs = this.lookFrom(lane)
    const place = this.#places.get(keyOf(lane))
    if (place !== undefined) place.cameMs = Infinity
    return dueFromMs
  }

  /** Where to look for what is due next, which claims nothing. */
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

  /** Notes that a claim took all before a moment, but what came since it began. */
  passed({ dueAtMs, ...lane }: DueTime): void {
    const place = this.#places.get(keyOf(lane))
    if (place !== undefined) place.dueFromMs = Math.min(dueAtMs, place.cameMs)
  }

  /** Notes that something is due: claims begin there if they would begin later. */
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
