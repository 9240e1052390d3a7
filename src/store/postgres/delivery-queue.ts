import type {
  AddOutcome,
  AddRequest,
  AddResult,
  ClaimRequest,
  DueRequest,
  DueTime,
  NewLease,
  LeasedDelivery,
  Settlement,
  SettleRequest,
} from '../../delivery/index.ts'
import type { Lane } from '../../model/index.ts'
import { beginEnds, firstTryOf } from '../log/first-tries.ts'
import { leasedDelivery, type ClaimedRow } from '../log/logged-delivery.ts'
import { givenUpByDestination } from '../added-deliveries.ts'
import { fromStored } from '../stored-text.ts'
import type { Script } from '../sql.ts'
import { addQuery, type AddedRow } from './add-statement.ts'
import { ClaimFloors } from './claim-floors.ts'
import { claimQuery, nextDueQuery } from './claim-statement.ts'
import type { Database } from './database.ts'
import { Leases, type LeaseTerm, type OwnLeases } from './leases.ts'
import type { Notifications } from './notifications.ts'
import type { RequestPartitions } from './request-partitions.ts'
import { settleQuery, type SettledRow } from './settle-statement.ts'

interface LeasedRow extends Omit<ClaimedRow, 'body'> {
  readonly destinationId: string
  readonly lane: Lane
  /** Null in a damaged store. */
  readonly body: string | null
}

interface DeliveryQueueParts {
  /** Connections for adds. An add may have to wait until one is free. */
  readonly adding: Database
  /** Separate connections to the same database, for claims and settlements. */
  readonly delivering: Database
  readonly partitions: RequestPartitions
  readonly holder: number
  readonly leaseMs: number
  /** Tells other processes which lanes they can claim from. */
  readonly notifications: Pick<Notifications, 'announce'>
}

/** Implements the adds, claims and settlements of the DeliveryStore port. */
export class DeliveryQueue {
  readonly #parts: DeliveryQueueParts
  readonly #leases: Leases
  readonly #floors = new ClaimFloors()

  constructor(parts: DeliveryQueueParts) {
    this.#parts = parts
    this.#leases = new Leases(parts)
  }

  /** Adds events with their deliveries, and leases as many as the batch allows. */
  async add(batch: AddRequest): Promise<AddResult> {
    if (batch.events.length === 0) return { outcomes: [], leased: [], refused: [] }
    const lease = this.#leases.begin(batch.nowMs)
    const query = addQuery(batch, lease)
    const rows = await this.#answer(lease, this.#parts.adding.rows<AddedRow>(query))
    const outcomes = outcomesOf(batch, rows)
    const byPosition = new Map(rows.filter(({ id }) => id > 0).map((row) => [row.position, row]))
    const leased: NewLease[] = []
    const refusedIds: string[] = []
    const leftIds = new Set<string>()
    for (const [index, delivery] of query.deliveries.entries()) {
      const { destinationId, eventPosition, deliveryIndex } = delivery
      const row = byPosition.get(index + 1)
      const eventIndex = eventPosition - 1
      if (row?.kind === 'leased') {
        const held = { lease: lease.number, leasedUntilMs: lease.untilMs }
        leased.push({ eventIndex, deliveryIndex, id: row.id, destinationId, ...held })
      } else if (row?.kind === 'refused') refusedIds.push(destinationId)
      else if (outcomes[eventIndex] === 'routed') leftIds.add(destinationId)
    }
    this.#leases.hold(lease, leased)
    const lane = { lane: 'first', dueAtMs: batch.nowMs } as const
    const left = Array.from(leftIds, (destinationId) => ({ destinationId, ...lane }))
    if (left.length > 0) this.announce(left)
    return { outcomes, leased, refused: givenUpByDestination(refusedIds) }
  }

  /**
   * Adds events with their deliveries inside a transaction, and leases none. Call {@link DeliveryQueue.announce}
   * after the commit.
   */
  *addWithin(batch: AddRequest): Script<void> {
    if (batch.events.length === 0) return
    const lease = this.#leases.begin(batch.nowMs)
    this.#leases.hold(lease, [])
    yield addQuery(batch, lease)
  }

  /** Records which lanes have deliveries to claim; without an argument, that any lane may have some. */
  learn(dueTimes?: readonly DueTime[]): void {
    if (dueTimes === undefined) this.#floors.clear()
    else for (const due of dueTimes) this.#floors.add(due)
  }

  /** Like {@link DeliveryQueue.learn}, but also notifies other processes. */
  announce(dueTimes?: readonly DueTime[]): void {
    this.learn(dueTimes)
    this.#parts.notifications.announce(dueTimes)
  }

  own(): OwnLeases {
    return this.#leases.own()
  }

  /** Leases deliveries: for each share, those that became due earliest. */
  async claim({ nowMs, shares }: ClaimRequest): Promise<readonly LeasedDelivery[]> {
    if (shares.length === 0) return []
    const lease = this.#leases.begin(nowMs)
    const query = claimQuery(shares, { nowMs, lease, own: this.own(), floors: this.#floors })
    const rows = await this.#answer(lease, this.#parts.delivering.rows<LeasedRow>(query))
    // A delivery without a body stays leased, so that the next claim finds other deliveries.
    this.#leases.hold(lease, rows)
    const term = { lease: lease.number, leasedUntilMs: lease.untilMs }
    const leased = rows.filter(hasBody).map((row) => {
      const { lane } = row
      return leasedDelivery(row, { destinationId: fromStored(row.destinationId), lane, ...term })
    })
    for (const delivery of leased) this.#floors.passed(delivery)
    return leased
  }

  /** Returns when the first delivery in each lane of these destinations is due. */
  async nextDue({ nowMs, destinationIds }: DueRequest): Promise<readonly DueTime[]> {
    if (destinationIds.length === 0) return []
    const query = nextDueQuery(destinationIds, { nowMs, own: this.own(), floors: this.#floors })
    const rows = await this.#parts.delivering.rows<DueTime>(query)
    const dueTimes = rows.map(({ destinationId, lane, dueAtMs }) => {
      return { destinationId: fromStored(destinationId), lane, dueAtMs }
    })
    this.learn(dueTimes)
    return dueTimes
  }

  /** Settles leases that have not ended, and stores requests. Returns the settlements that took effect. */
  async settle(request: SettleRequest): Promise<readonly Settlement[]> {
    const { nowMs } = request
    const { delivering, partitions, holder } = this.#parts
    const batch = beginEnds(request, (delivery) => this.#leases.beginEnd(delivery))
    const { settlements: ending } = batch
    if (ending.length + batch.requests.length === 0) return []
    const query = settleQuery(batch, holder)
    const settle = (): Promise<readonly SettledRow[]> => delivering.rows<SettledRow>(query)
    // If a settlement has no effect, the statement still logs its first try.
    const mayLog = batch.requests.length > 0 || ending.some((end) => firstTryOf(end) !== undefined)
    let rows: readonly SettledRow[]
    try {
      rows = await (mayLog ? partitions.insert(nowMs, settle) : settle())
    } catch (error) {
      for (const { delivery } of ending) this.#leases.cancelEnd(delivery)
      throw error
    }
    for (const { delivery } of ending) this.#leases.end(delivery)
    const effective = query.settlementsOf(rows)
    this.learn(effective.flatMap(dueAgain))
    // Don't announce retries: this process claims its own once they are due.
    const due = effective.filter(({ kind }) => kind === 'returned').flatMap(dueAgain)
    if (due.length > 0) this.#parts.notifications.announce(due)
    return effective
  }

  /** If the answer is lost, ends the lease, so that this process can claim what the server may have leased. */
  async #answer<Rows>(lease: LeaseTerm, answer: Promise<Rows>): Promise<Rows> {
    try {
      return await answer
    } catch (error) {
      this.#leases.hold(lease, [])
      this.#floors.clear()
      throw error
    }
  }
}

function hasBody(row: LeasedRow): row is LeasedRow & ClaimedRow {
  return row.body !== null
}

function outcomesOf({ events }: AddRequest, rows: readonly AddedRow[]): readonly AddOutcome[] {
  const known = rows.filter(({ kind }) => kind === 'fresh' || kind === 'suppressed')
  const kinds = new Map(known.map(({ position, kind }) => [position, kind]))
  return events.map(({ deliveries }, position): AddOutcome => {
    const kind = kinds.get(position + 1)
    if (kind === 'suppressed') return kind
    if (kind === undefined) return 'duplicate'
    return deliveries.length === 0 ? 'filtered' : 'routed'
  })
}

function dueAgain(settlement: Settlement): readonly DueTime[] {
  const { kind, delivery } = settlement
  if (kind !== 'retry' && kind !== 'returned') return []
  const { destinationId, lane } = delivery
  return [{ destinationId, lane: kind === 'retry' ? kind : lane, dueAtMs: settlement.dueAtMs }]
}
