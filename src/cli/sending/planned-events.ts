import type { AddOutcome, NewEvent } from '../../delivery/index.ts'
import { emptyLedger, type DeliveryLedger } from '../../model/index.ts'

/** messageIds that are remembered, as many as a store in memory does. */
const messageIdsMax = 100_000

/** What a store would make of the events of one source, where their deliveries end as they come. */
export class PlannedEvents {
  /** The one that came first is the first. */
  readonly #messageIds = new Set<string>()
  #ledger = emptyLedger

  /** The books so far; nothing is delivered. */
  get ledger(): DeliveryLedger {
    return this.#ledger
  }

  /** Takes events in, and tells what would become of each, in order. */
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
