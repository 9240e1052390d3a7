import type {
  AddRequest,
  ClaimRequest,
  DeliveryStore,
  LeasedDelivery,
  Settlement,
} from '../../delivery/index.ts'
import { placesOf } from './handed-over.ts'
import { settlementOf } from './numbered-settlement.ts'
import type {
  NumberedAddition,
  NumberedDeliveries,
  NumberedQueue,
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
    const { outcomes, leased, refused } = await this.#store.add(batch)
    const ids = leased.map(({ id }) => id)
    const places = placesOf(batch, leased)
    return { outcomes, firstLease: this.#number(leased), places, ids, refused }
  }

  async claim(request: ClaimRequest): Promise<NumberedDeliveries> {
    const deliveries = await this.#store.claim(request)
    return { firstLease: this.#number(deliveries), deliveries }
  }

  async settle({
    settlements: endings,
    ...batch
  }: NumberedSettleRequest): Promise<readonly number[]> {
    const taken = new Map<number, Settlement>()
    for (const ending of endings) {
      const { lease } = ending
      const delivery = this.#deliveries.get(lease)
      if (delivery !== undefined) taken.set(lease, settlementOf(ending, delivery))
      // A number stands for one end.
      this.#deliveries.delete(lease)
    }
    try {
      const settlements = [...taken.values()]
      const effective = new Set(await this.#store.settle({ ...batch, settlements }))
      return [...taken].flatMap(([lease, settlement]) => (effective.has(settlement) ? [lease] : []))
    } catch (error) {
      for (const [lease, { delivery }] of taken) this.#deliveries.set(lease, delivery)
      throw error
    }
  }

  #number(deliveries: readonly LeasedDelivery[]): number {
    const first = this.#last + 1
    for (const delivery of deliveries) this.#deliveries.set(++this.#last, delivery)
    return first
  }
}
