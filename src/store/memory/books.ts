import type { AddOutcome, EndedCounts } from '../../delivery/index.ts'
import { emptyLedger, type DeliveryLedger } from '../../model/index.ts'

type Counts = { -readonly [Name in keyof DeliveryLedger]: DeliveryLedger[Name] }
type DeliveryCounts = Pick<Counts, 'deliveries' | 'pending' | keyof EndedCounts>

const noDeliveries: Readonly<DeliveryCounts> = Object.freeze({
  deliveries: 0,
  delivered: 0,
  failed: 0,
  expired: 0,
  pending: 0,
})

/** Counts events, and deliveries by their destination. */
export class Books {
  readonly #all: Counts = { ...emptyLedger }
  readonly #byDestination = new Map<string, DeliveryCounts>()

  /** An event was taken in. */
  countEvent(outcome: AddOutcome): void {
    this.#all.accepted++
    this.#all[outcome]++
  }

  /** A delivery was made. */
  countDelivery(destinationId: string): void {
    for (const counts of this.#of(destinationId)) {
      counts.deliveries++
      counts.pending++
    }
  }

  /** A delivery came to its end. */
  countEnd(destinationId: string, state: keyof EndedCounts): void {
    for (const counts of this.#of(destinationId)) {
      counts.pending--
      counts[state]++
    }
  }

  /** A delivery that had ended is pending again. */
  takeEndBack(destinationId: string, state: keyof EndedCounts): void {
    for (const counts of this.#of(destinationId)) {
      counts.pending++
      counts[state]--
    }
  }

  /** The books: every event, and the deliveries of one destination, or of all. */
  ledger(destinationId?: string): DeliveryLedger {
    if (destinationId === undefined) return { ...this.#all }
    return { ...this.#all, ...(this.#byDestination.get(destinationId) ?? noDeliveries) }
  }

  #of(destinationId: string): readonly DeliveryCounts[] {
    let own = this.#byDestination.get(destinationId)
    if (own === undefined) this.#byDestination.set(destinationId, (own = { ...noDeliveries }))
    return [this.#all, own]
  }
}
