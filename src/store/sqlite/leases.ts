import type { Lease } from '../../delivery/index.ts'
import { sql, type Sql } from '../sql.ts'

type DeliveryKey = Pick<Lease, 'destinationId' | 'id'>

/** The leases of this process, each with a unique number. */
export class Leases {
  readonly #byDestination = new Map<string, Map<number, number>>()
  readonly #ending = new Set<number>()
  #last = 0

  begin({ destinationId, id }: DeliveryKey): number {
    const lease = ++this.#last
    const leases = this.#byDestination.get(destinationId)
    if (leases === undefined) this.#byDestination.set(destinationId, new Map([[id, lease]]))
    else leases.set(id, lease)
    return lease
  }

  /** Marks a lease as ending: the delivery stays leased. Returns false if the lease has ended or is ending. */
  beginEnd({ destinationId, id, lease }: Lease): boolean {
    const known = this.#byDestination.get(destinationId)?.get(id)
    if (known !== lease || this.#ending.has(lease)) return false
    this.#ending.add(lease)
    return true
  }

  /** Undoes {@link Leases.beginEnd}. */
  cancelEnd({ lease }: Lease): void {
    this.#ending.delete(lease)
  }

  end({ destinationId, id, lease }: DeliveryKey & Pick<Lease, 'lease'>): void {
    this.#ending.delete(lease)
    this.#byDestination.get(destinationId)?.delete(id)
  }

  /** Returns the SQL condition that a delivery is leased. The statement must name the table `delivery`. */
  isLeased(): Sql {
    const ids = this.idsOf([...this.#byDestination.keys()])
    return sql`delivery.id IN (SELECT value FROM json_each(${ids}))`
  }

  /** Returns the ids of these destinations' leased deliveries as JSON. */
  idsOf(destinationIds: readonly string[]): string {
    const leases = destinationIds.map((id) => this.#byDestination.get(id))
    return JSON.stringify(leases.flatMap((ofDestination) => [...(ofDestination?.keys() ?? [])]))
  }
}
