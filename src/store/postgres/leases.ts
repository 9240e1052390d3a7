import type { Lease } from '../../delivery/index.ts'

/** A lease in the database. */
export interface LeaseTerm {
  /** The process. */
  readonly holder: number
  /** The number of the deliveries that it leased together. Later leases have greater numbers. */
  readonly number: number
  /** When other processes may lease the delivery, in milliseconds since 1970. */
  readonly untilMs: number
}

/** The leases of this process, which do not end by time for itself. */
export interface OwnLeases {
  /** This process. */
  readonly holder: number
  /** The numbers of its leases. */
  readonly numbers: readonly number[]
  /**
   * The number of its next lease. A lease with a lower number that is not in `numbers` was lost with an
   * answer: no process sends those deliveries.
   */
  readonly next: number
}

/**
 * The condition for a delivery that this process may lease: it has no lease, a lost one of this process,
 * or one of another process that has ended.
 *
 * @param parameters - the parameters for now, the holder, its numbers and the next number
 */
export function isFree([now, holder, numbers, next]: readonly [
  string,
  string,
  string,
  string,
]): string {
  return `(leased_until IS NULL OR CASE WHEN lease_holder = ${holder}::bigint
    THEN lease < ${next}::bigint AND NOT lease = ANY (${numbers}::bigint[])
    ELSE leased_until <= ${now}::bigint END)`
}

/**
 * The deliveries that this process has leased, by the number of their lease. Deliveries that are
 * leased together have one number. A delivery can be in it twice, if its first lease ended by time.
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

  /** The leases for statements. */
  own(): OwnLeases {
    return { holder: this.#holder, numbers: [...this.#byNumber.keys()], next: this.#next }
  }

  /** Begins a lease for deliveries that are leased together. It counts until {@link Leases.hold}. */
  begin(nowMs: number): LeaseTerm {
    const number = this.#next++
    this.#byNumber.set(number, new Map())
    return { holder: this.#holder, number, untilMs: nowMs + this.#leaseMs }
  }

  /** Notes the deliveries of a lease that has begun; none if the answer of the server was lost. */
  hold({ number }: LeaseTerm, deliveries: readonly Lease[]): void {
    if (deliveries.length === 0) this.#byNumber.delete(number)
    else this.#byNumber.set(number, new Map(deliveries.map(({ id }) => [id, 'leased'])))
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
