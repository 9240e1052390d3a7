import type { Lease } from '../../delivery/index.ts'
import { sql, type Sql } from '../sql.ts'

/** A lease as the database stores it. */
export interface LeaseTerm {
  readonly holder: number
  /** Deliveries that are leased together share a number. Numbers increase. */
  readonly number: number
  /** When other processes may lease the delivery, in milliseconds since 1970. */
  readonly untilMs: number
}

/**
 * The numbers of the leases that this process has, even if they have expired. The next lease gets the number `next`.
 * Other leases of this holder below `next` are lost: the server's answer never arrived, so no process is sending the
 * deliveries.
 */
export interface OwnLeases {
  readonly holder: number
  readonly numbers: readonly number[]
  readonly next: number
}

/**
 * Returns the SQL condition for deliveries that this process may lease: those without a lease, with a lost lease of
 * this process, or with an expired lease of another one. The condition has four parameters.
 */
export function isFree({ holder, numbers, next }: OwnLeases, nowMs: number): Sql {
  return sql`(leased_until IS NULL OR CASE WHEN lease_holder = ${holder}::bigint
    THEN lease < ${next}::bigint AND NOT lease = ANY (${numbers}::bigint[])
    ELSE leased_until <= ${nowMs}::bigint END)`
}

/**
 * The deliveries that this process has leased, by lease number. A delivery appears twice if its first lease
 * expired and this process leased it again.
 */
export class Leases {
  readonly #holder: number
  readonly #leaseMs: number
  readonly #byNumber = new Map<number, Map<number, 'leased' | 'ending'>>()
  #next = 1

  constructor({ holder, leaseMs }: { readonly holder: number; readonly leaseMs: number }) {
    this.#holder = holder
    this.#leaseMs = leaseMs
  }

  own(): OwnLeases {
    return { holder: this.#holder, numbers: [...this.#byNumber.keys()], next: this.#next }
  }

  /** Begins a lease. {@link Leases.own} lists it at once; {@link Leases.hold} records its deliveries later. */
  begin(nowMs: number): LeaseTerm {
    const number = this.#next++
    this.#byNumber.set(number, new Map())
    return { holder: this.#holder, number, untilMs: nowMs + this.#leaseMs }
  }

  /** Records the deliveries of a lease. Ends the lease if there are none, as after a lost answer. */
  hold({ number }: LeaseTerm, deliveries: readonly Pick<Lease, 'id'>[]): void {
    if (deliveries.length === 0) this.#byNumber.delete(number)
    else this.#byNumber.set(number, new Map(deliveries.map(({ id }) => [id, 'leased'])))
  }

  /** Marks a delivery's lease as ending. It still counts as leased. Returns false if it has ended or is ending. */
  beginEnd({ id, lease }: Lease): boolean {
    const leases = this.#byNumber.get(lease)
    if (leases?.get(id) !== 'leased') return false
    leases.set(id, 'ending')
    return true
  }

  /** Undoes {@link Leases.beginEnd}. */
  cancelEnd({ id, lease }: Lease): void {
    this.#byNumber.get(lease)?.set(id, 'leased')
  }

  end({ id, lease }: Lease): void {
    const leases = this.#byNumber.get(lease)
    leases?.delete(id)
    if (leases?.size === 0) this.#byNumber.delete(lease)
  }
}
