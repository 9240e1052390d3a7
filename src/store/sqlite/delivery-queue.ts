import type {
  AddOutcome,
  AddRequest,
  AddResult,
  DueTime,
  LeasedDelivery,
  NewEvent,
  Settlement,
  SettleRequest,
  Share,
} from '../../delivery/index.ts'
import { lanes } from '../../model/index.ts'
import { isSuppressed } from '../suppressed-event.ts'
import type { Counts } from './counts.ts'
import type { Leases } from './leases.ts'
import type { LaneOf, Statements } from './statements.ts'
import type { Suppressions } from './suppressions.ts'

/** A settlement after which nothing is left to do. */
type Ending = Extract<Settlement, { readonly attempts: number }>

/** What a queue works with. */
interface QueueParts {
  readonly statements: Statements
  readonly counts: Counts
  readonly leases: Leases
  readonly suppressions: Suppressions
}

/** Takes deliveries in, gives them out and settles them; whoever calls it begins and ends transactions. */
export class DeliveryQueue {
  readonly #statements: Statements
  readonly #counts: Counts
  readonly #leases: Leases
  readonly #suppressions: Suppressions

  constructor(parts: QueueParts) {
    this.#statements = parts.statements
    this.#counts = parts.counts
    this.#leases = parts.leases
    this.#suppressions = parts.suppressions
  }

  /** Writes events with their deliveries, and gives out what there is room for. */
  add(batch: AddRequest): AddResult {
    const rooms = new Map(batch.handOver.map((room) => [room.destinationId, room.deliveriesMax]))
    const leased: LeasedDelivery[] = []
    const give = (delivery: LeasedDelivery): void => {
      const room = rooms.get(delivery.destinationId) ?? 0
      if (room <= 0) return
      rooms.set(delivery.destinationId, room - 1)
      leased.push(delivery)
    }
    const outcomes = batch.events.map((event) => this.#addEvent(event, batch, give))
    // Now, so that no claim can give them out as well.
    for (const delivery of leased) this.#leases.begin(delivery)
    return { outcomes, leased }
  }

  /** Takes back what was given out by what failed in the end. */
  takeBack(deliveries: readonly LeasedDelivery[]): void {
    for (const delivery of deliveries) this.#leases.end(delivery)
  }

  /** Gives out what of some lanes is due, or nothing at all. */
  claim(shares: readonly Share[]): readonly LeasedDelivery[] {
    const claimed: LeasedDelivery[] = []
    try {
      for (const share of shares) claimed.push(...this.#claimShare(share))
      return claimed
    } catch (error) {
      this.takeBack(claimed)
      throw error
    }
  }

  /** When each lane of a destination can be claimed. */
  nextDue(destinationId: string): readonly DueTime[] {
    return lanes.flatMap((lane) => {
      const dueAtMs = this.#nextDueMs({ destinationId, lane })
      return dueAtMs === undefined ? [] : [{ destinationId, lane, dueAtMs }]
    })
  }

  /** Writes settlements whose leases have not ended, and requests. */
  settle(batch: SettleRequest): void {
    for (const request of batch.requests) this.#statements.addRequest(request)
    for (const settlement of batch.settlements) this.#settleOne(settlement, batch.nowMs)
  }

  #claimShare(share: Share): readonly LeasedDelivery[] {
    const leasedIds = this.#leases.idsOf(share.destinationId)
    // What is given out is among the first that SQLite finds.
    const rowsMax = share.deliveriesMax + leasedIds.size
    const claimed = this.#statements
      .waiting({ ...share, rowsMax })
      .filter(({ id }) => !leasedIds.has(id))
      .slice(0, share.deliveriesMax)
      .map((row) => this.#statements.leasedDelivery(row, share))
    for (const delivery of claimed) this.#leases.begin(delivery)
    return claimed
  }

  #addEvent(
    event: NewEvent,
    batch: AddRequest,
    give: (delivery: LeasedDelivery) => void,
  ): AddOutcome {
    const { deliveries, messageId, type } = event
    const outcome = this.#outcomeOf(event, batch)
    this.#counts.add('accepted', 1)
    this.#counts.add(outcome, 1)
    if (outcome !== 'routed') return outcome
    const { nowMs } = batch
    const bodyIds = this.#addBodies(event)
    for (const { destinationId, body } of deliveries) {
      const id = this.#counts.takeId()
      const bodyId = bodyIds.get(body) ?? 0
      this.#counts.addFor(destinationId, 'deliveries', 1)
      this.#counts.addFor(destinationId, 'pending', 1)
      this.#statements.addDelivery({ destinationId, id, event, bodyId, nowMs })
      const moments = { acceptedAtMs: nowMs, dueAtMs: nowMs }
      give({ id, destinationId, messageId, type, body, ...moments, ...untried })
    }
    return outcome
  }

  #outcomeOf(event: NewEvent, batch: AddRequest): AddOutcome {
    // First: of who is suppressed not even the messageId is kept.
    if (isSuppressed(this.#suppressions, event)) return 'suppressed'
    if (!this.#statements.see(event, batch)) return 'duplicate'
    return event.deliveries.length === 0 ? 'filtered' : 'routed'
  }

  /** Destinations that get the same text share it. */
  #addBodies({ deliveries }: NewEvent): ReadonlyMap<string, number> {
    const uses = new Map<string, number>()
    for (const { body } of deliveries) uses.set(body, (uses.get(body) ?? 0) + 1)
    const ids = [...uses].map(([body, count]) => this.#statements.addBody(body, count))
    return new Map([...uses.keys()].map((body, place) => [body, ids[place] ?? 0]))
  }

  #nextDueMs(lane: LaneOf): number | undefined {
    const leasedIds = this.#leases.idsOf(lane.destinationId)
    return this.#statements
      .waiting({ ...lane, dueByMs: Number.MAX_SAFE_INTEGER, rowsMax: leasedIds.size + 1 })
      .find(({ id }) => !leasedIds.has(id))?.due_at
  }

  #settleOne(settlement: Settlement, nowMs: number): void {
    const { delivery, kind } = settlement
    switch (kind) {
      case 'delivered':
        this.#end(settlement, { nowMs, reason: null })
        break
      case 'failed':
      case 'expired':
        this.#end(settlement, { nowMs, reason: settlement.reason })
        break
      case 'retry':
        this.#statements.retry(settlement)
        break
      case 'returned':
        this.#statements.giveBack(delivery, settlement.dueAtMs)
        break
    }
  }

  #end(
    { delivery, kind, attempts }: Ending,
    end: { readonly nowMs: number; readonly reason: string | null },
  ): void {
    const { destinationId, id } = delivery
    // Only what the file calls pending: another process may have ended it.
    if (!this.#statements.end({ destinationId, id, state: kind, attempts, ...end })) return
    this.#counts.addFor(destinationId, kind, 1)
    this.#counts.addFor(destinationId, 'pending', -1)
  }
}

/** How far a new delivery has come. */
const untried = Object.freeze({
  lane: 'first' as const,
  attempts: 0,
  windowAttempts: 0,
  firstAttemptAtMs: null,
  holds: Object.freeze([]),
})
