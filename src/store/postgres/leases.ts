import type { LeasedDelivery } from '../../delivery/index.ts'
import type { Lease } from './lease.ts'

/** Numbers that are lost at the most; of more the first are given out again when their leases end. */
const lostMax = 1_000

/**
 * The deliveries that this process has given out, each with the number of its lease: what the database
 * knows it by. A lease is the very object that was given out.
 */
export class Leases {
  readonly #numbers = new Map<LeasedDelivery, number>()
  readonly #ending = new Set<LeasedDelivery>()
  readonly #sizes = new Map<number, number>()
  readonly #lost = new Map<number, number>()
  #lastNumber = 0

  /** A number for what is given out together; never the same twice. */
  nextNumber(): number {
    this.#lastNumber++
    return this.#lastNumber
  }

  /** Gives deliveries out under a number. */
  begin(number: number, deliveries: readonly LeasedDelivery[]): void {
    if (deliveries.length === 0) return
    for (const delivery of deliveries) this.#numbers.set(delivery, number)
    this.#sizes.set(number, deliveries.length)
  }

  /**
   * Announces the end of a lease. Until {@link Leases.end} the delivery is still given out.
   *
   * @returns the number of the lease; undefined when it has ended, or its end was announced already
   */
  beginEnd(delivery: LeasedDelivery): number | undefined {
    if (this.#ending.has(delivery)) return undefined
    const number = this.#numbers.get(delivery)
    if (number !== undefined) this.#ending.add(delivery)
    return number
  }

  /** Takes the announcement of an end back. */
  goOn(delivery: LeasedDelivery): void {
    this.#ending.delete(delivery)
  }

  /** Takes a delivery back. */
  end(delivery: LeasedDelivery): void {
    this.#ending.delete(delivery)
    const number = this.#numbers.get(delivery)
    if (number === undefined) return
    this.#numbers.delete(delivery)
    const left = (this.#sizes.get(number) ?? 1) - 1
    if (left > 0) this.#sizes.set(number, left)
    else this.#sizes.delete(number)
  }

  /** The numbers under which something is still given out. */
  numbers(): readonly number[] {
    return [...this.#sizes.keys()]
  }

  /** Notes that nobody will ever know what was given out under a number, if anything was. */
  lose({ number, untilMs }: Lease): void {
    this.#lost.set(number, untilMs)
    const [first] = this.#lost.keys()
    if (this.#lost.size > lostMax && first !== undefined) this.#lost.delete(first)
  }

  /** The numbers that are lost, and whose leases have not ended. */
  lostNumbers(nowMs: number): readonly number[] {
    for (const [number, untilMs] of this.#lost) if (untilMs <= nowMs) this.#lost.delete(number)
    return [...this.#lost.keys()]
  }
}
