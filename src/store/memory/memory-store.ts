import type {
  AddOutcome,
  AddRequest,
  AddResult,
  ClaimRequest,
  DeliveryFilter,
  DeliveryKey,
  DeliveryStory,
  DueTime,
  LeasedDelivery,
  ListRequest,
  LoggedDelivery,
  NewEvent,
  PurgeRequest,
  PurgeResult,
  RetryRequest,
  Settlement,
  SettleRequest,
  StoreAudit,
} from '../../delivery/index.ts'
import { EvrouteError, type DeliveryLedger } from '../../model/index.ts'
import { erasedReason } from '../erased-reason.ts'
import type { Store } from '../store.ts'
import { isSuppressed } from '../suppressed-event.ts'
import { Admission, type AdmissionBounds } from './admission.ts'
import { Books } from './books.ts'
import { meets } from './delivery-filter.ts'
import { eraseDelivery, keepRequest, namesUser } from './erasure-delivery.ts'
import { MemoryAudiences } from './memory-audiences.ts'
import { MemoryRegulations } from './memory-regulations.ts'
import { PendingDeliveries } from './pending-deliveries.ts'
import { RecentKeys } from './recent-keys.ts'
import { SettledLog } from './settled-log.ts'
import {
  deliveryOrigin,
  loggedDelivery,
  newWindow,
  storedDelivery,
  type DeliveryEnd,
  type DeliveryOrigin,
  type StoredDelivery,
} from './stored-delivery.ts'
import { Suppressions } from './suppressions.ts'
import { WaitingLanes } from './waiting-lanes.ts'

/** The bounds of a memory store. */
export interface MemoryStoreOptions extends AdmissionBounds {
  /** messageIds that are remembered for deduplication; 100,000 by default. */
  readonly messageIdsMax?: number
  /** Deliveries that the log keeps once they came to their end; 1,000 by default. */
  readonly settledMax?: number
}

const messageIdsMaxDefault = 100_000
const settledMaxDefault = 1_000

/** An event that was read to its end, so that nothing can fail while it is taken in. */
interface ReadEvent {
  readonly event: NewEvent
  readonly key: string
  readonly origins: readonly DeliveryOrigin[]
}

/**
 * Keeps deliveries in memory: for `send` and for tests. Only the last deliveries that came to their
 * end are kept and old messageIds are forgotten, so that memory stays flat however much passes through.
 */
export class MemoryStore implements Store {
  readonly audiences: MemoryAudiences
  readonly regulations: MemoryRegulations
  readonly #seen: RecentKeys
  readonly #pending = new PendingDeliveries()
  readonly #admission: Admission
  readonly #waiting = new WaitingLanes()
  readonly #settled: SettledLog
  readonly #books = new Books()
  readonly #suppressions = new Suppressions()
  #nextId = 1
  #closed = false

  constructor(options: MemoryStoreOptions = {}) {
    this.#admission = new Admission(this.#pending, options)
    this.#seen = new RecentKeys(options.messageIdsMax ?? messageIdsMaxDefault)
    this.#settled = new SettledLog(options.settledMax ?? settledMaxDefault)
    this.audiences = new MemoryAudiences({
      open: () => this.#open(),
      add: (batch) => this.#takeIn(batch),
      suppressions: this.#suppressions,
    })
    this.regulations = new MemoryRegulations({
      open: () => this.#open(),
      add: (batch) => this.#notify(batch),
      lastId: () => this.#nextId - 1,
      find: (id) => this.#pending.get(id) ?? this.#settled.get(id),
      erase: (deliveries, nowMs) => this.#erase(deliveries, nowMs),
      eraseMember: (userId, sourceIds) => this.audiences.eraseUser(userId, sourceIds),
      suppressions: this.#suppressions,
    })
  }

  add(batch: AddRequest): Promise<AddResult> {
    return this.#admission.enter(() => {
      this.#refuseWhenClosed()
      return this.#takeIn(batch)
    })
  }

  async claim(request: ClaimRequest): Promise<readonly LeasedDelivery[]> {
    await this.#open()
    const taken = request.shares.flatMap((share) => this.#waiting.take(share))
    return taken.map((delivery) => this.#pending.lease(delivery))
  }

  async settle(batch: SettleRequest): Promise<void> {
    await this.#open()
    for (const request of batch.requests) {
      const { destinationId, deliveryId: id } = request
      const delivery = this.#find({ destinationId, id })
      if (delivery !== undefined) keepRequest(delivery, request)
    }
    for (const settlement of batch.settlements) this.#settleOne(settlement, batch.nowMs)
    this.#admission.letIn()
  }

  async checkWritable(): Promise<void> {
    await this.#open()
  }

  async nextDue(request: {
    readonly destinationIds: readonly string[]
  }): Promise<readonly DueTime[]> {
    await this.#open()
    return request.destinationIds.flatMap((id) => this.#waiting.nextDue(id))
  }

  async ledger(request?: { readonly destinationId: string }): Promise<DeliveryLedger> {
    await this.#open()
    return this.#books.ledger(request?.destinationId)
  }

  async list(request: ListRequest): Promise<readonly LoggedDelivery[]> {
    await this.#open()
    const { filter, limit, beforeId = Infinity } = request
    return this.#thatMeet(filter)
      .filter(({ id }) => id < beforeId)
      .sort((a, b) => b.id - a.id)
      .slice(0, limit)
      .map(loggedDelivery)
  }

  async story(key: DeliveryKey): Promise<DeliveryStory | undefined> {
    await this.#open()
    const delivery = this.#find(key)
    if (delivery === undefined) return undefined
    const requests = delivery.requests.toSorted((a, b) => a.atMs - b.atMs)
    return { ...loggedDelivery(delivery), body: delivery.body, requests }
  }

  async retry(request: RetryRequest): Promise<number> {
    await this.#open()
    const { nowMs, filter, limit } = request
    const chosen = this.#thatMeet(filter)
      .filter((delivery) => canBeRetried(delivery, nowMs))
      .slice(0, limit)
    this.#waiting.remove(new Set(chosen))
    for (const delivery of chosen) this.#retryOne(delivery, nowMs)
    return chosen.length
  }

  async purge(request: PurgeRequest): Promise<PurgeResult> {
    await this.#open()
    const { nowMs, rowsMax: countMax } = request
    const settled =
      this.#settled.purge({
        states: ['delivered'],
        beforeMs: request.deliveredBeforeMs,
        countMax,
      }) +
      this.#settled.purge({
        states: ['failed', 'expired'],
        beforeMs: request.failedBeforeMs,
        countMax,
      })
    const keys = this.#seen.forget({ beforeMs: request.messageIdsBeforeMs, countMax })
    const abandoned = this.#waiting.takeDueBefore(request.abandonedBeforeMs, countMax)
    for (const delivery of abandoned) {
      this.#end(delivery, { state: 'expired', atMs: nowMs, reason: 'abandoned' })
    }
    this.#admission.letIn()
    return { rows: settled + keys + abandoned.length, abandoned: abandoned.length }
  }

  async audit(): Promise<StoreAudit> {
    await this.#open()
    return {
      ledger: this.#books.ledger(),
      counted: { ...this.#settled.counted(), pending: this.#pending.size },
      purged: this.#settled.purged(),
      withoutBody: 0,
    }
  }

  close(): Promise<void> {
    this.#closed = true
    this.#pending.clear()
    this.#waiting.clear()
    this.#settled.clear()
    this.#admission.close()
    return Promise.resolve()
  }

  #takeIn(batch: AddRequest): AddResult {
    const room = new Map(batch.handOver.map((one) => [one.destinationId, one.deliveriesMax]))
    const events = batch.events.map(readEvent)
    const taken = { nowMs: batch.nowMs, seenSinceMs: batch.seenSinceMs, added: [] }
    const outcomes = events.map((event) => this.#addEvent(event, taken))
    return { outcomes, leased: this.#handOver(taken.added, room) }
  }

  #notify(batch: AddRequest): readonly StoredDelivery[] {
    const firstId = this.#nextId
    this.#takeIn(batch)
    const made: StoredDelivery[] = []
    for (let id = firstId; id < this.#nextId; id++) {
      const delivery = this.#pending.get(id)
      if (delivery !== undefined) made.push(delivery)
    }
    return made
  }

  #erase(deliveries: readonly StoredDelivery[], nowMs: number): void {
    for (const delivery of deliveries) {
      if (namesUser(delivery)) this.#seen.remove(eventKey(delivery))
      const isPending = delivery.end === undefined
      eraseDelivery(delivery)
      if (isPending) this.#end(delivery, { state: 'failed', atMs: nowMs, reason: erasedReason })
    }
    this.#admission.letIn()
  }

  #addEvent(
    read: ReadEvent,
    batch: { nowMs: number; seenSinceMs: number; added: StoredDelivery[] },
  ): AddOutcome {
    const outcome = this.#outcomeOf(read, batch)
    this.#books.countEvent(outcome)
    if (outcome !== 'routed') return outcome
    for (const origin of read.origins) {
      const delivery = storedDelivery(origin, this.#nextId++, batch.nowMs)
      this.#pending.add(delivery)
      this.#books.countDelivery(delivery.destinationId)
      batch.added.push(delivery)
    }
    return outcome
  }

  #outcomeOf(
    { event, key, origins }: ReadEvent,
    moments: { nowMs: number; seenSinceMs: number },
  ): AddOutcome {
    // First: of who is suppressed not even the messageId is kept.
    if (isSuppressed(this.#suppressions, event)) return 'suppressed'
    if (!this.#seen.add(key, moments)) return 'duplicate'
    return origins.length === 0 ? 'filtered' : 'routed'
  }

  #handOver(
    added: readonly StoredDelivery[],
    room: Map<string, number>,
  ): readonly LeasedDelivery[] {
    const leased: LeasedDelivery[] = []
    for (const delivery of added) {
      const left = room.get(delivery.destinationId) ?? 0
      room.set(delivery.destinationId, left - 1)
      if (left > 0) leased.push(this.#pending.lease(delivery))
      else this.#waiting.add(delivery)
    }
    return leased
  }

  #settleOne(settlement: Settlement, nowMs: number): void {
    const delivery = this.#pending.get(settlement.delivery.id)
    // Only the lease it was given out with: settling twice changes nothing.
    if (delivery?.lease !== settlement.delivery) return
    this.#pending.takeBack(delivery)
    switch (settlement.kind) {
      case 'delivered':
      case 'failed':
      case 'expired': {
        const { kind: state, attempts } = settlement
        const reason = settlement.kind === 'delivered' ? null : settlement.reason
        delivery.progress = { ...delivery.progress, attempts }
        this.#end(delivery, { state, atMs: nowMs, reason })
        break
      }
      case 'retry': {
        const { dueAtMs, expiresAtMs, progress } = settlement
        this.#pending.changeLane(delivery, 'retry')
        Object.assign(delivery, { dueAtMs, expiresAtMs, progress })
        this.#waiting.add(delivery)
        break
      }
      case 'returned':
        delivery.dueAtMs = settlement.dueAtMs
        this.#waiting.add(delivery)
        break
    }
  }

  #retryOne(delivery: StoredDelivery, nowMs: number): void {
    if (delivery.end !== undefined) {
      this.#settled.remove(delivery)
      this.#books.takeEndBack(delivery.destinationId, delivery.end.state)
      this.#pending.add(delivery)
      delivery.end = undefined
    }
    this.#pending.changeLane(delivery, 'manual')
    delivery.dueAtMs = nowMs
    delivery.expiresAtMs = null
    delivery.manualRetries++
    delivery.progress = { attempts: delivery.progress.attempts, ...newWindow }
    this.#waiting.add(delivery)
  }

  #end(delivery: StoredDelivery, end: DeliveryEnd): void {
    this.#pending.remove(delivery)
    this.#books.countEnd(delivery.destinationId, end.state)
    delivery.end = end
    this.#settled.add(delivery)
  }

  #find({ destinationId, id }: DeliveryKey): StoredDelivery | undefined {
    const delivery = this.#pending.get(id) ?? this.#settled.get(id)
    return delivery?.destinationId === destinationId ? delivery : undefined
  }

  #thatMeet(filter: DeliveryFilter): StoredDelivery[] {
    const all = [...this.#pending.values(), ...this.#settled.all()]
    return all.filter((delivery) => meets(delivery, filter))
  }

  /** Every method answers later, as one that reaches a database would, and not after `close`. */
  async #open(): Promise<void> {
    await Promise.resolve()
    this.#refuseWhenClosed()
  }

  #refuseWhenClosed(): void {
    if (!this.#closed) return
    throw new EvrouteError({ code: 'store_closed', message: 'Cannot use the store: it is closed' })
  }
}

function readEvent(event: NewEvent): ReadEvent {
  const origins = event.deliveries.map((delivery) => deliveryOrigin(event, delivery))
  return { event, key: eventKey(event), origins }
}

function eventKey({ sourceId, messageId }: Pick<NewEvent, 'sourceId' | 'messageId'>): string {
  // The length keeps one pair from reading like another.
  return `${sourceId.length}:${sourceId}${messageId}`
}

/**
 * What failed or expired, and what waits for a retry: neither given out nor due for another reason. It
 * ended, or its window began, at a moment or before.
 */
function canBeRetried(delivery: StoredDelivery, nowMs: number): boolean {
  const { end, isErased, lane, lease: given, progress } = delivery
  if (isErased) return false
  if (end !== undefined) return end.state !== 'delivered' && end.atMs <= nowMs
  return lane === 'retry' && given === undefined && (progress.firstAttemptAtMs ?? 0) <= nowMs
}
