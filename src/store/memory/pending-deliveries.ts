import type { LeasedDelivery } from '../../delivery/index.ts'
import type { Lane } from '../../model/index.ts'
import { lease, type StoredDelivery } from './stored-delivery.ts'

/** The deliveries that have not come to their end, and how many of them are how far. */
export class PendingDeliveries {
  readonly #byId = new Map<number, StoredDelivery>()
  #bodyBytes = 0
  #untried = 0
  #leased = 0

  /** All of them. */
  get size(): number {
    return this.#byId.size
  }

  /** UTF-8 bytes of their bodies. */
  get bodyBytes(): number {
    return this.#bodyBytes
  }

  /** Those whose first try has not ended. */
  get untried(): number {
    return this.#untried
  }

  /** Those that are given out. */
  get leased(): number {
    return this.#leased
  }

  /** The delivery with an id; undefined when none is pending. */
  get(id: number): StoredDelivery | undefined {
    return this.#byId.get(id)
  }

  /** All of them, in the order they came. */
  values(): Iterable<StoredDelivery> {
    return this.#byId.values()
  }

  /** Keeps a delivery that is not given out. */
  add(delivery: StoredDelivery): void {
    this.#byId.set(delivery.id, delivery)
    this.#bodyBytes += delivery.bodyBytes
    this.#untried += untriedIn(delivery.lane)
  }

  /** Lets go of a delivery that came to its end and is not given out. */
  remove(delivery: StoredDelivery): void {
    this.#byId.delete(delivery.id)
    this.#bodyBytes -= delivery.bodyBytes
    this.#untried -= untriedIn(delivery.lane)
  }

  /** Gives a delivery out. */
  lease(delivery: StoredDelivery): LeasedDelivery {
    this.#leased++
    return lease(delivery)
  }

  /** Whoever a delivery was given out to has it no more. */
  takeBack(delivery: StoredDelivery): void {
    delivery.lease = undefined
    this.#leased--
  }

  /** Puts a delivery into another lane. */
  changeLane(delivery: StoredDelivery, lane: Lane): void {
    this.#untried += untriedIn(lane) - untriedIn(delivery.lane)
    delivery.lane = lane
  }

  /** Lets go of everything. */
  clear(): void {
    this.#byId.clear()
  }
}

function untriedIn(lane: Lane): number {
  return lane === 'first' ? 1 : 0
}
