import type { AddOutcome, NewEvent } from '../../delivery/index.ts'
import { emptyLedger, type DeliveryLedger } from '../../model/index.ts'

/** Maximum number of remembered messageIds; the same as for a store in memory. */
const messageIdsMax = 100_000

/** Predicts the outcome of adding events of one source to a store where deliveries end at once. */
export class PlannedEvents {
  /** A Set keeps insertion order, so the first is the oldest. */
  readonly #messageIds = new Set<string>()
  #ledger = emptyLedger

  /** The ledger so far. Nothing is delivered. */
  get ledger(): DeliveryLedger {
    return this.#ledger
  }

  /** Adds events and returns the outcome of each, in order. */
  add(events: readonly NewEvent[]): readonly AddOutcome[] {
    return events.map((event) => {
      const outcome = this.#outcomeOf(event)
      const { accepted, [outcome]: soFar } = this.#ledger
      this.#ledger = { ...this.#ledger, accepted: accepted + 1, [outcome]: soFar + 1 }
      return outcome
    })
  }

  #outcomeOf({ messageId, deliveries }: NewEvent): AddOutcome {
    if (this.#messageIds.has(messageId)) return 'duplicate'
    this.#remember(messageId)
    return deliveries.length === 0 ? 'filtered' : 'routed'
  }

  #remember(messageId: string): void {
    const [oldest] = this.#messageIds
    if (oldest !== undefined && this.#messageIds.size >= messageIdsMax) {
      this.#messageIds.delete(oldest)
    }
    this.#messageIds.add(messageId)
  }
}
