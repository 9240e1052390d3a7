import type {
  AddOutcome,
  AddRequest,
  AddResult,
  DueTime,
  Lease,
  LeaseEnd,
  LeasedDelivery,
  NewDelivery,
  NewEvent,
  SettleRequest,
  Share,
} from '../../delivery/index.ts'
import { lanes, type GivenUpDeliveries, type RequestRecord } from '../../model/index.ts'
import { firstTriesOf } from '../log/index.ts'
import { countRefused, refusedReason } from '../refused-deliveries.ts'
import { scriptOf, type Script } from '../sql/index.ts'
import { untriedDelivery } from '../untried-delivery.ts'
import type { Counts } from './counts.ts'
import type { Leases } from './leases.ts'
import type { SeenMessages } from './seen-messages.ts'
import {
  leasedDelivery,
  type BodyRow,
  type DeliveryEnd,
  type DeliveryRow,
  type LaneOf,
  type Statements,
} from './statements.ts'
import type { Suppressions } from './suppressions.ts'

/** Leases to end, and requests to write. */
export interface EndRequest<End extends LeaseEnd> extends Omit<SettleRequest, 'settlements'> {
  readonly settlements: readonly End[]
}

/** A settlement that ends a delivery. */
type Ending = Extract<LeaseEnd, { readonly attempts: number }>

/** An end that several deliveries of one destination share. */
interface SharedEnd extends DeliveryEnd {
  readonly endings: Ending[]
}

/** A new delivery and its text. */
interface NewDeliveryRow extends DeliveryRow {
  readonly body: string
  /** Whether the backlog of its destination was full. */
  readonly isRefused: boolean
}

/** The parts of a queue. */
interface QueueParts {
  readonly statements: Statements
  /** Writes the end of the pending ones among some deliveries, and returns their number. */
  readonly endRows: Statements['end']
  readonly seen: SeenMessages
  readonly counts: Counts
  readonly leases: Leases
  readonly suppressions: Suppressions
}

/** Adds, leases and settles deliveries. The caller begins and ends transactions. */
export class DeliveryQueue {
  readonly #statements: Statements
  readonly #endRows: Statements['end']
  readonly #seen: SeenMessages
  readonly #counts: Counts
  readonly #leases: Leases
  readonly #suppressions: Suppressions

  constructor(parts: QueueParts) {
    this.#statements = parts.statements
    this.#endRows = parts.endRows
    this.#seen = parts.seen
    this.#counts = parts.counts
    this.#leases = parts.leases
    this.#suppressions = parts.suppressions
  }

  /** Adds events with their deliveries, and leases what there is room for. */
  add(batch: AddRequest): AddResult {
    const outcomes = this.#outcomesOf(batch)
    const routed = batch.events.filter((_, place) => outcomes[place] === 'routed')
    const rows = this.#addDeliveries(routed, batch.nowMs)
    const refused = this.#refuse(
      rows.filter(({ isRefused }) => isRefused),
      batch.nowMs,
    )
    // Leased now, so that no claim leases them as well.
    const leased = handedOver(rows, batch).map((row) => {
      const { id, destinationId, event, body } = row
      const lease = this.#leases.begin(row)
      return untriedDelivery({ id, lease, destinationId, event, body }, batch.nowMs)
    })
    return { outcomes, leased, refused }
  }

  /** Adds events with their deliveries in the current transaction, and leases none of them. */
  *addWithin(batch: AddRequest): Script<void> {
    yield* scriptOf(() => this.add(batch))
  }

  /** Ends the leases of work that failed. */
  takeBack(deliveries: readonly Lease[]): void {
    for (const delivery of deliveries) this.#leases.end(delivery)
  }

  /** Leases deliveries of some lanes that are due; in case of an error none. */
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

  /** When the first delivery of each lane of some destinations is due. */
  nextDue(destinationIds: readonly string[]): readonly DueTime[] {
    // One statement finds the destinations with pending deliveries. If most have none, this is a hundred
    // times as fast as asking for each lane.
    const pendingIds = this.#statements.withPending(destinationIds)
    return pendingIds.flatMap((destinationId) =>
      lanes.flatMap((lane) => {
        const dueAtMs = this.#nextDueMs({ destinationId, lane })
        return dueAtMs === undefined ? [] : [{ destinationId, lane, dueAtMs }]
      }),
    )
  }

  /**
   * Writes settlements whose leases have not ended, and requests.
   *
   * @returns the settlements that took effect: another process may have ended a delivery
   */
  settle(batch: EndRequest<LeaseEnd>): readonly LeaseEnd[] {
    const { succeeded, others } = firstTriesOf(batch.settlements, batch.requests)
    this.#statements.addRequests(others)
    const endings: Ending[] = []
    const effective: LeaseEnd[] = []
    for (const settlement of batch.settlements) {
      switch (settlement.kind) {
        case 'delivered':
        case 'failed':
        case 'expired':
          endings.push(settlement)
          break
        case 'retry':
          if (this.#statements.retry(settlement)) effective.push(settlement)
          break
        case 'returned':
          this.#statements.giveBack(settlement.delivery, settlement.dueAtMs)
          effective.push(settlement)
          break
      }
    }
    for (const end of endsOf(endings)) {
      const tries = end.endings.flatMap((ending) => succeeded.get(ending) ?? [])
      effective.push(...this.#end(end, tries, batch.nowMs))
    }
    return effective
  }

  #claimShare(share: Share): readonly LeasedDelivery[] {
    const leasedIds = this.#leases.idsOf(share.destinationId)
    // SQLite finds leased deliveries among the first.
    const request = { ...share, rowsMax: share.deliveriesMax + leasedIds.size }
    const isFree = (id: number): boolean => !leasedIds.has(id)
    const ids = this.#statements.waiting(request).filter(isFree).slice(0, share.deliveriesMax)
    if (ids.length === 0) return []
    let rows = this.#statements.leasable(ids)
    if (rows.length < ids.length) {
      // Deliveries without a text stay in front of others for as long as they exist.
      const withText = this.#statements.waitingWithText(request).map(({ id }) => id)
      rows = this.#statements.leasable(withText.filter(isFree).slice(0, share.deliveriesMax))
    }
    const { destinationId, lane } = share
    return rows.map((row) => {
      const lease = this.#leases.begin({ destinationId, id: row.id })
      return leasedDelivery(row, { destinationId, lane, lease })
    })
  }

  /** Remembers the messageIds of events, and returns the outcome of each event. */
  #outcomesOf({ events, ...moments }: AddRequest): readonly AddOutcome[] {
    // First, because for suppressed users not even the messageId is kept.
    const isDropped = this.#suppressions.drops(events)
    const kept = events.filter((_, place) => isDropped[place] === false)
    const areNew = this.#seen.remember(kept, moments).values()
    this.#counts.add('accepted', events.length)
    return events.map(({ deliveries }, place) => {
      const outcome =
        isDropped[place] === true ? 'suppressed' : outcomeOf(deliveries, areNew.next().value)
      this.#counts.add(outcome, 1)
      return outcome
    })
  }

  /** Destinations of an event that get the same text share its row. */
  #addDeliveries(events: readonly NewEvent[], nowMs: number): readonly NewDeliveryRow[] {
    if (events.length === 0) return []
    let lastBodyId = this.#statements.lastBodyId()
    const bodies: BodyRow[] = []
    const rows: NewDeliveryRow[] = []
    for (const event of events) {
      const ofEvent: BodyRow[] = []
      for (const { destinationId, body, backlogMax } of event.deliveries) {
        let row = ofEvent.find((known) => known.body === body)
        if (row === undefined) {
          row = { id: ++lastBodyId, body, deliveries: 0 }
          ofEvent.push(row)
        }
        row.deliveries++
        const isRefused =
          backlogMax !== undefined && this.#counts.pendingOf(destinationId) >= backlogMax
        this.#counts.addFor(destinationId, 'deliveries', 1)
        this.#counts.addFor(destinationId, isRefused ? 'failed' : 'pending', 1)
        const id = this.#counts.takeId()
        rows.push({ destinationId, id, event, bodyId: row.id, body, isRefused })
      }
      bodies.push(...ofEvent)
    }
    this.#statements.addBodies(bodies)
    this.#statements.addDeliveries(rows, nowMs)
    return rows
  }

  /** Fails deliveries that were just added. */
  #refuse(rows: readonly NewDeliveryRow[], nowMs: number): readonly GivenUpDeliveries[] {
    const refused = countRefused(rows.map(({ destinationId }) => destinationId))
    for (const { destinationId } of refused) {
      const ofDestination = rows.filter((row) => row.destinationId === destinationId)
      const ids = ofDestination.map(({ id }) => id)
      const end = { destinationId, state: 'failed', attempts: 0, reason: refusedReason } as const
      this.#statements.end(ids, end, nowMs)
    }
    return refused
  }

  #nextDueMs(lane: LaneOf): number | undefined {
    const leasedIds = this.#leases.idsOf(lane.destinationId)
    return this.#statements
      .waitingWithText({ ...lane, dueByMs: Number.MAX_SAFE_INTEGER, rowsMax: leasedIds.size + 1 })
      .find(({ id }) => !leasedIds.has(id))?.due_at
  }

  #end(
    { endings, ...end }: SharedEnd,
    tries: readonly RequestRecord[],
    nowMs: number,
  ): readonly Ending[] {
    const ids = endings.map(({ delivery }) => delivery.id)
    const triedIds = new Set(tries.map(({ deliveryId }) => deliveryId))
    const otherIds = ids.filter((id) => !triedIds.has(id))
    // Only pending deliveries: another process may have ended some.
    const ended = this.#deliverAtFirstTry(tries, nowMs) + this.#endRows(otherIds, end, nowMs)
    this.#counts.addFor(end.destinationId, end.state, ended)
    this.#counts.addFor(end.destinationId, 'pending', -ended)
    if (ended === ids.length) return endings
    if (end.state === 'delivered') this.#deliverDiscarded(ids, end, nowMs)
    const endedIds = this.#statements.endedOf(ids, end, nowMs)
    return endings.filter(({ delivery }) => endedIds.has(delivery.id))
  }

  #deliverAtFirstTry(tries: readonly RequestRecord[], nowMs: number): number {
    const delivered = this.#statements.deliverAtFirstTry(tries, nowMs)
    if (delivered < tries.length) {
      this.#statements.addRequests(this.#statements.unwritten(tries))
    }
    return delivered
  }

  /**
   * Delivers deliveries that another process discarded while they were being sent, because the
   * endpoint has them.
   */
  #deliverDiscarded(ids: readonly number[], end: DeliveryEnd, nowMs: number): void {
    const delivered = this.#statements.deliverDiscarded(ids, end, nowMs)
    this.#counts.addFor(end.destinationId, 'delivered', delivered)
    this.#counts.addFor(end.destinationId, 'failed', -delivered)
  }
}

function outcomeOf(deliveries: readonly NewDelivery[], isNew = false): AddOutcome {
  if (!isNew) return 'duplicate'
  return deliveries.length === 0 ? 'filtered' : 'routed'
}

/** The new deliveries that there is room for, in their order. */
function handedOver(
  rows: readonly NewDeliveryRow[],
  { handOver }: AddRequest,
): readonly NewDeliveryRow[] {
  const rooms = new Map(handOver.map((room) => [room.destinationId, room.deliveriesMax]))
  return rows.filter(({ destinationId, isRefused }) => {
    const room = rooms.get(destinationId) ?? 0
    if (room <= 0 || isRefused) return false
    rooms.set(destinationId, room - 1)
    return true
  })
}

/** Groups endings that are the same. */
function endsOf(endings: readonly Ending[]): readonly SharedEnd[] {
  const byDestination = new Map<string, SharedEnd[]>()
  for (const ending of endings) {
    const { delivery, kind: state, attempts } = ending
    const { destinationId } = delivery
    const reason = ending.kind === 'delivered' ? null : ending.reason
    const ends = byDestination.get(destinationId) ?? []
    if (ends.length === 0) byDestination.set(destinationId, ends)
    const same = ends.find(
      (end) => end.state === state && end.attempts === attempts && end.reason === reason,
    )
    if (same === undefined) ends.push({ destinationId, state, attempts, reason, endings: [ending] })
    else same.endings.push(ending)
  }
  return [...byDestination.values()].flat()
}
