import type { Lease } from '../../delivery/index.ts'
import { sql, type Sql } from '../sql.ts'

/** A lease in the database. */
export interface LeaseTerm {
  readonly holder: number
  /** The number that deliveries leased together share. Later leases have greater numbers. */
  readonly number: number
  /** When other processes may lease the delivery, in milliseconds since 1970. */
  readonly untilMs: number
}

/**
 * The leases of this process, which keeps them even after they expire. `numbers` lists them, and `next` is
 * the number of the next one. A row whose lease has a lower number that is not listed was leased, but the
 * server's answer was lost. So no process sends that delivery.
 */
export interface OwnLeases {
  readonly holder: number
  readonly numbers: readonly number[]
  readonly next: number
}

/**
 * Returns an SQL condition with four values: this process may lease the delivery, because it has no lease, a
 * lost lease of this process, or an expired lease of another process.
 */
export function isFree({ holder, numbers, next }: OwnLeases, nowMs: number): Sql {
  return sql`(leased_until IS NULL OR CASE WHEN lease_holder = ${holder}::bigint
    THEN lease < ${next}::bigint AND NOT lease = ANY (${numbers}::bigint[])
    ELSE leased_until <= ${nowMs}::bigint END)`
}

/**
 * The deliveries that this process has leased, by the number of their lease. A delivery appears twice if its
 * first lease expired and this process leased it again.
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

  /** Returns the leases, for statements. */
  own(): OwnLeases {
    return { holder: this.#holder, numbers: [...this.#byNumber.keys()], next: this.#next }
  }

  /** Begins a lease. Its number is in {@link Leases.own} at once; {@link Leases.hold} records its deliveries. */
  begin(nowMs: number): LeaseTerm {
    const number = this.#next++
    this.#byNumber.set(number, new Map())
    return { holder: this.#holder, number, untilMs: nowMs + this.#leaseMs }
  }

  /** Records the deliveries of a lease. Without deliveries, as after a lost answer, the lease ends. */
  hold({ number }: LeaseTerm, deliveries: readonly Pick<Lease, 'id'>[]): void {
    if (deliveries.length === 0) this.#byNumber.delete(number)
    else this.#byNumber.set(number, new Map(deliveries.map(({ id }) => [id, 'leased'])))
  }

  /**
   * Marks the lease of a delivery as ending. Until {@link Leases.end}, the delivery is still leased.
   *
   * @returns false if the lease has ended or is ending already
   */
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

  /** Ends a lease. */
  end({ id, lease }: Lease): void {
    const leases = this.#byNumber.get(lease)
    leases?.delete(id)
    if (leases?.size === 0) this.#byNumber.delete(lease)
  }
}
