import type {
  AddOutcome,
  AddRequest,
  AddResult,
  ClaimRequest,
  DueTime,
  LeasedDelivery,
  Settlement,
  SettleRequest,
} from '../../delivery/index.ts'
import { stopwatch, systemClock } from '../../runtime/index.ts'
import { countRefused } from '../refused-deliveries.ts'
import { fromStored } from '../stored-text.ts'
import { ClaimPlaces } from './claim-places.ts'
import { addQuery, type AddedRow, type BatchDelivery } from './add-statement.ts'
import {
  claimQuery,
  nextDueQuery,
  type ClaimedRow,
  type DueRow,
  type OwnLeases,
} from './claim-statement.ts'
import type { Script } from '../sql/index.ts'
import type { Database } from './database.ts'
import { leasedDelivery } from './delivery-rows.ts'
import { Leases } from './leases.ts'
import type { LeaseTerm } from './lease-term.ts'
import type { RequestPartitions } from './request-partitions.ts'
import { settleQuery, type SettledRow } from './settle-statement.ts'

/** The parts of a queue. */
export interface DeliveryQueueParts {
  /** The database for adding. An add may wait for a connection. */
  readonly database: Database
  /** The same database for claims and settlements. */
  readonly delivering: Database
  /** The partitions of the log of requests. */
  readonly partitions: RequestPartitions
  /** The number of this process. */
  readonly holder: number
  /** How long a lease lasts, in milliseconds. */
  readonly leaseMs: number
  /** Learns what other processes can claim; anything if it gets no argument. */
  readonly announce: (dueTimes?: readonly DueTime[]) => void
}

/** Adds, leases and settles deliveries. */
export class DeliveryQueue {
  readonly #parts: DeliveryQueueParts
  readonly #leases = new Leases()
  readonly #places = new ClaimPlaces()
  #toldMs: number = systemClock.nowMs()
  #sinceToldMs = stopwatch()

  constructor(parts: DeliveryQueueParts) {
    this.#parts = parts
  }

  /** Adds events with their deliveries, and leases what there is room for. */
  async add(batch: AddRequest): Promise<AddResult> {
    this.#noteTime(batch.nowMs)
    if (batch.events.length === 0) return { outcomes: [], leased: [], refused: [] }
    const lease = this.#newLease(batch.nowMs)
    const query = addQuery(batch, lease)
    const rows = await this.#given(lease, this.#parts.database.rows<AddedRow>(query))
    const outcomes = outcomesOf(batch, rows)
    const leased = rows
      .flatMap(({ kind, place, id }) => {
        const delivery = query.deliveries[place - 1]
        return kind !== 'leased' || delivery === undefined ? [] : [{ id, ...delivery }]
      })
      .sort((a, b) => a.id - b.id)
      .map((row) => handedOver(row, lease, batch.nowMs))
    this.#leases.begin(lease.number, leased)
    const refused = countRefused(
      rows
        .filter(({ kind }) => kind === 'refused')
        .map(({ place }) => query.deliveries[place - 1]?.destinationId ?? ''),
    )
    const added = { outcomes, leased, refused }
    const left = leftOf(batch, added)
    this.learn(left)
    this.#announce(left)
    return added
  }

  /**
   * Adds events with their deliveries inside a transaction and leases none of them. Call {@link
   * DeliveryQueue.announce} after the commit, so that other processes learn of them.
   */
  *addWithin(batch: AddRequest): Script<void> {
    if (batch.events.length > 0) yield addQuery(batch, this.#newLease(batch.nowMs))
  }

  /** Learns that lanes have deliveries to claim; any lane if it gets no argument. */
  learn(dueTimes?: readonly DueTime[]): void {
    if (dueTimes === undefined) this.#places.clear()
    else for (const due of dueTimes) this.#places.add(due)
  }

  /** Notifies the other processes that there is more to claim. */
  announce(): void {
    this.learn()
    this.#parts.announce()
  }

  /** The leases of this process. */
  own(): OwnLeases {
    const lost = this.#leases.lostNumbers(this.#nowMs())
    return { holder: this.#parts.holder, numbers: this.#leases.numbers(), lost }
  }

  /** Leases deliveries of some lanes that are due. */
  async claim({ nowMs, shares }: ClaimRequest): Promise<readonly LeasedDelivery[]> {
    this.#noteTime(nowMs)
    if (shares.length === 0) return []
    const lease = this.#newLease(nowMs)
    const query = claimQuery(shares, { nowMs, lease, own: this.own(), places: this.#places })
    const rows = await this.#given(lease, this.#parts.delivering.rows<ClaimedRow>(query))
    const leased = rows.map((row) => leasedDelivery(row, lease))
    this.#leases.begin(lease.number, leased)
    for (const delivery of leased) this.#places.passed(delivery)
    return leased
  }

  /** When the first delivery of each lane of some destinations is due. */
  async nextDue(destinationIds: readonly string[]): Promise<readonly DueTime[]> {
    if (destinationIds.length === 0) return []
    const own = { own: this.own(), places: this.#places }
    const query = nextDueQuery(destinationIds, { nowMs: this.#nowMs(), ...own })
    const rows = await this.#parts.delivering.rows<DueRow>(query)
    const dueTimes = rows.map((row) => ({
      destinationId: fromStored(row.destination_id),
      lane: row.lane,
      dueAtMs: row.due_at,
    }))
    this.learn(dueTimes)
    return dueTimes
  }

  /**
   * Ends leases that were not settled yet, and writes requests. Returns the settlements that took
   * effect.
   */
  async settle({ nowMs, settlements, requests }: SettleRequest): Promise<readonly Settlement[]> {
    this.#noteTime(nowMs)
    const { delivering, partitions, holder } = this.#parts
    const ending = settlements.filter(({ delivery }) => this.#leases.beginEnd(delivery))
    if (ending.length + requests.length === 0) return []
    const query = settleQuery({ nowMs, holder, settlements: ending, requests })
    const settle = (): Promise<readonly SettledRow[]> => delivering.rows<SettledRow>(query)
    let rows: readonly SettledRow[]
    try {
      rows = await (requests.length === 0 ? settle() : partitions.insert(nowMs, settle))
    } catch (error) {
      for (const { delivery } of ending) this.#leases.goOn(delivery)
      throw error
    }
    for (const { delivery } of ending) this.#leases.end(delivery)
    const effective = query.settlementsOf(rows)
    this.learn(effective.flatMap(dueAgain))
    // This process knows of its own retries, so only returned deliveries are announced.
    this.#announce(effective.filter(({ kind }) => kind === 'returned').flatMap(dueAgain))
    return effective
  }

  #announce(dueTimes: readonly DueTime[]): void {
    if (dueTimes.length > 0) this.#parts.announce(dueTimes)
  }

  /**
   * If the connection is lost, the answer is lost with it. The deliveries may still have been leased.
   */
  async #given<Rows>(lease: LeaseTerm, answer: Promise<Rows>): Promise<Rows> {
    try {
      return await answer
    } catch (error) {
      this.#leases.lose(lease)
      this.#places.clear()
      throw error
    }
  }

  #newLease(nowMs: number): LeaseTerm {
    const { holder, leaseMs } = this.#parts
    return { holder, number: this.#leases.nextNumber(), untilMs: nowMs + leaseMs }
  }

  #noteTime(nowMs: number): void {
    this.#toldMs = nowMs
    this.#sinceToldMs = stopwatch()
  }

  /**
   * The time for questions that carry none. Leases of dead processes must still end, so it is the last
   * time that came with a call, plus the time since.
   */
  #nowMs(): number {
    return Math.floor(this.#toldMs + this.#sinceToldMs())
  }
}

function outcomesOf({ events }: AddRequest, rows: readonly AddedRow[]): readonly AddOutcome[] {
  const known = rows.filter(({ kind }) => kind === 'fresh' || kind === 'suppressed')
  const kinds = new Map(known.map(({ place, kind }) => [place, kind]))
  return events.map(({ deliveries }, place): AddOutcome => {
    const kind = kinds.get(place)
    if (kind === 'suppressed') return kind
    if (kind === undefined) return 'duplicate'
    return deliveries.length === 0 ? 'filtered' : 'routed'
  })
}

/** The first delivery for each destination of a batch that was not leased. */
function leftOf({ events, nowMs }: AddRequest, added: AddResult): readonly DueTime[] {
  const counts = new Map<string, number>()
  const count = (destinationId: string, by: number): void => {
    counts.set(destinationId, (counts.get(destinationId) ?? 0) + by)
  }
  for (const [place, { deliveries }] of events.entries()) {
    if (added.outcomes[place] !== 'routed') continue
    for (const { destinationId } of deliveries) count(destinationId, 1)
  }
  for (const { destinationId } of added.leased) count(destinationId, -1)
  for (const { destinationId, deliveries } of added.refused) count(destinationId, -deliveries)
  const left = [...counts].filter(([, deliveries]) => deliveries > 0)
  return left.map(([destinationId]) => ({ destinationId, lane: 'first', dueAtMs: nowMs }))
}

/** The delivery that waits again after a lease has ended. */
function dueAgain(settlement: Settlement): readonly DueTime[] {
  const { kind, delivery } = settlement
  const { destinationId } = delivery
  if (kind === 'retry') return [{ destinationId, lane: 'retry', dueAtMs: settlement.dueAtMs }]
  if (kind !== 'returned') return []
  return [{ destinationId, lane: delivery.lane, dueAtMs: settlement.dueAtMs }]
}

function handedOver(
  { id, event, destinationId, body }: BatchDelivery & { readonly id: number },
  { number: lease, untilMs }: LeaseTerm,
  atMs: number,
): LeasedDelivery {
  const { messageId, type } = event
  const moments = { acceptedAtMs: atMs, dueAtMs: atMs, leasedUntilMs: untilMs }
  return { id, lease, destinationId, messageId, type, body, ...moments, ...untried }
}

/** The progress of a new delivery. */
const untried = Object.freeze({
  lane: 'first' as const,
  attempts: 0,
  windowAttempts: 0,
  firstAttemptAtMs: null,
  holds: Object.freeze([]),
})
