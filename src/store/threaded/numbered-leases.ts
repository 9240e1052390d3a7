import type {
  AddRequest,
  ClaimRequest,
  DeliveryStore,
  LeasedDelivery,
  Settlement,
} from '../../delivery/index.ts'
import { placesOf } from './handed-over.ts'
import type {
  NumberedAddition,
  NumberedDeliveries,
  NumberedQueue,
  NumberedSettlement,
  NumberedSettleRequest,
} from './thread-messages.ts'

/** Gives out the deliveries of a store, and ends their leases by number. */
export class NumberedLeases implements NumberedQueue {
  readonly #store: DeliveryStore
  readonly #deliveries = new Map<number, LeasedDelivery>()
  #last = 0

  constructor(store: DeliveryStore) {
    this.#store = store
  }

  async add(batch: AddRequest): Promise<NumberedAddition> {
    const { outcomes, leased } = await this.#store.add(batch)
    const ids = leased.map(({ id }) => id)
    return { outcomes, firstLease: this.#number(leased), places: placesOf(batch, leased), ids }
  }

  async claim(request: ClaimRequest): Promise<NumberedDeliveries> {
    const deliveries = await this.#store.claim(request)
    return { firstLease: this.#number(deliveries), deliveries }
  }

  async settle({ settlements, ...batch }: NumberedSettleRequest): Promise<void> {
    const taken = settlements.flatMap((settlement) => this.#take(settlement))
    try {
      await this.#store.settle({ ...batch, settlements: taken.map(({ ended }) => ended) })
    } catch (error) {
      for (const { lease, ended } of taken) this.#deliveries.set(lease, ended.delivery)
      throw error
    }
  }

  #number(deliveries: readonly LeasedDelivery[]): number {
    const first = this.#last + 1
    for (const delivery of deliveries) this.#deliveries.set(++this.#last, delivery)
    return first
  }

  /** Ends a lease for now: a number stands for one end. */
  #take({ lease, ...ending }: NumberedSettlement): readonly TakenLease[] {
    const delivery = this.#deliveries.get(lease)
    if (delivery === undefined) return []
    this.#deliveries.delete(lease)
    return [{ lease, ended: { ...ending, delivery } }]
  }
}

interface TakenLease {
  readonly lease: number
  readonly ended: Settlement
}
