import type { Lease } from '../../delivery/index.ts'
import type { LeaseTerm } from './lease-term.ts'

/** The maximum of lost numbers. Deliveries of older ones are free when their leases end. */
const lostMax = 1_000

/**
 * The deliveries that this process has leased, by the number of their lease. Deliveries that are
 * leased together have one number. A delivery can be in it twice, if its first lease ended by time.
 */
export class Leases {
  readonly #byNumber = new Map<number, Map<number, 'leased' | 'ending'>>()
  readonly #lost = new Map<number, number>()
  #lastNumber = 0

  /** A new number for deliveries that are leased together. */
  nextNumber(): number {
    this.#lastNumber++
    return this.#lastNumber
  }

  /** Leases deliveries under a number. */
  begin(number: number, deliveries: readonly Lease[]): void {
    if (deliveries.length === 0) return
    this.#byNumber.set(number, new Map(deliveries.map(({ id }) => [id, 'leased'])))
  }

  /**
   * Announces the end of a lease. Until {@link Leases.end} the delivery is still leased.
   *
   * @returns false when the lease has ended, or its end was announced already
   */
  beginEnd({ id, lease }: Lease): boolean {
    const leases = this.#byNumber.get(lease)
    if (leases?.get(id) !== 'leased') return false
    leases.set(id, 'ending')
    return true
  }

  /** Withdraws the announcement of an end. */
  goOn({ id, lease }: Lease): void {
    this.#byNumber.get(lease)?.set(id, 'leased')
  }

  /** Ends a lease. */
  end({ id, lease }: Lease): void {
    const leases = this.#byNumber.get(lease)
    leases?.delete(id)
    if (leases?.size === 0) this.#byNumber.delete(lease)
  }

  /** The numbers of leases that have not ended. */
  numbers(): readonly number[] {
    return [...this.#byNumber.keys()]
  }

  /** Notes that the answer with the deliveries of a number was lost. */
  lose({ number, untilMs }: LeaseTerm): void {
    this.#lost.set(number, untilMs)
    const [first] = this.#lost.keys()
    if (this.#lost.size > lostMax && first !== undefined) this.#lost.delete(first)
  }

  /** The lost numbers whose leases have not ended. */
  lostNumbers(nowMs: number): readonly number[] {
    for (const [number, untilMs] of this.#lost) if (untilMs <= nowMs) this.#lost.delete(number)
    return [...this.#lost.keys()]
  }
}
