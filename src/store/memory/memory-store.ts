import TinyQueue from 'tinyqueue'
import type {
  AddOutcome,
  DeliveryStore,
  LeasedDelivery,
  NewDelivery,
  NewEvent,
  Settlement,
  Share,
} from '../../delivery/index.ts'
import { emptyLedger, EvrouteError, type DeliveryLedger } from '../../model/index.ts'
import { RecentKeys } from './recent-keys.ts'

/** The bounds of a memory store. */
export interface MemoryStoreOptions {
  /** Pending deliveries from which on `add` lets its caller wait; 10,000 by default. */
  readonly pendingMax?: number
  /**
   * UTF-8 bytes of the bodies of pending deliveries from which on `add` lets its caller wait; 64 MB
   * by default.
   */
  readonly pendingBytesMax?: number
  /** messageIds that are remembered for deduplication; 100,000 by default. */
  readonly messageIdsMax?: number
}

/** A delivery with its place in the queue of its destination. */
interface QueuedDelivery extends LeasedDelivery {
  readonly dueAtMs: number
}

const pendingMaxDefault = 10_000
const pendingBytesMaxDefault = 64 * 1024 * 1024
const messageIdsMaxDefault = 100_000

type Counts = { -readonly [Name in keyof DeliveryLedger]: DeliveryLedger[Name] }

/**
 * Keeps deliveries in memory: for `send` and for tests. Settled deliveries go at once and old
 * messageIds are forgotten, so that memory stays flat however much passes through.
 */
export class MemoryStore implements DeliveryStore {
  readonly #pendingMax: number
  readonly #pendingBytesMax: number
  readonly #seen: RecentKeys
  readonly #queues = new Map<string, TinyQueue<QueuedDelivery>>()
  readonly #leased = new Map<number, LeasedDelivery>()
  readonly #roomWaiters: (() => void)[] = []
  #nextId = 1
  #closed = false
  #pendingBytes = 0
  readonly #counts: Counts = { ...emptyLedger }

  constructor(options: MemoryStoreOptions = {}) {
    this.#pendingMax = options.pendingMax ?? pendingMaxDefault
    this.#pendingBytesMax = options.pendingBytesMax ?? pendingBytesMaxDefault
    this.#seen = new RecentKeys(options.messageIdsMax ?? messageIdsMaxDefault)
  }

  async add(batch: {
    readonly nowMs: number
    readonly events: readonly NewEvent[]
  }): Promise<readonly AddOutcome[]> {
    while (!this.#closed && this.#isFull()) {
      await new Promise<void>((resolve) => this.#roomWaiters.push(resolve))
    }
    this.#refuseWhenClosed()
    return batch.events.map((event) => this.#addEvent(event, batch.nowMs))
  }

  async claim(request: {
    readonly nowMs: number
    readonly shares: readonly Share[]
  }): Promise<readonly LeasedDelivery[]> {
    await this.#open()
    return request.shares.flatMap((share) => this.#claimShare(share, request.nowMs))
  }

  async settle(batch: {
    readonly nowMs: number
    readonly settlements: readonly Settlement[]
  }): Promise<void> {
    await this.#open()
    for (const settlement of batch.settlements) this.#settleOne(settlement, batch.nowMs)
    this.#letIn()
  }

  async nextDueMs(request: {
    readonly destinationIds: readonly string[]
  }): Promise<number | undefined> {
    await this.#open()
    const dueTimes = request.destinationIds
      .map((id) => this.#queues.get(id)?.peek()?.dueAtMs)
      .filter((dueAtMs) => dueAtMs !== undefined)
    return dueTimes.length === 0 ? undefined : Math.min(...dueTimes)
  }

  async pending(request: { readonly destinationIds: readonly string[] }): Promise<number> {
    await this.#open()
    const wanted = new Set(request.destinationIds)
    let pending = 0
    for (const id of wanted) pending += this.#queues.get(id)?.length ?? 0
    for (const { destinationId } of this.#leased.values())
      pending += wanted.has(destinationId) ? 1 : 0
    return pending
  }

  async ledger(): Promise<DeliveryLedger> {
    await this.#open()
    return { ...this.#counts }
  }

  close(): Promise<void> {
    this.#closed = true
    this.#queues.clear()
    this.#leased.clear()
    this.#letIn()
    return Promise.resolve()
  }

  #addEvent(event: NewEvent, nowMs: number): AddOutcome {
    this.#counts.accepted++
    const outcome = this.#outcomeOf(event)
    this.#counts[outcome]++
    if (outcome === 'routed') {
      for (const delivery of event.deliveries) {
        this.#enqueue(newDelivery(this.#nextId++, event, delivery), nowMs)
        this.#pendingBytes += Buffer.byteLength(delivery.body)
      }
      this.#counts.deliveries += event.deliveries.length
      this.#counts.pending += event.deliveries.length
    }
    return outcome
  }

  #outcomeOf(event: NewEvent): AddOutcome {
    if (!this.#seen.add(`${event.sourceId}\n${event.messageId}`)) return 'duplicate'
    return event.deliveries.length === 0 ? 'filtered' : 'routed'
  }

  #enqueue(delivery: LeasedDelivery, dueAtMs: number): void {
    let queue = this.#queues.get(delivery.destinationId)
    if (queue === undefined) {
      queue = new TinyQueue<QueuedDelivery>([], (a, b) => a.dueAtMs - b.dueAtMs || a.id - b.id)
      this.#queues.set(delivery.destinationId, queue)
    }
    queue.push({ ...delivery, dueAtMs })
  }

  #claimShare({ destinationId, deliveriesMax }: Share, nowMs: number): readonly LeasedDelivery[] {
    const queue = this.#queues.get(destinationId)
    const claimed: LeasedDelivery[] = []
    while (queue !== undefined && claimed.length < deliveriesMax) {
      if ((queue.peek()?.dueAtMs ?? Infinity) > nowMs) break
      const delivery = queue.pop()
      if (delivery === undefined) break
      this.#leased.set(delivery.id, delivery)
      claimed.push(delivery)
    }
    return claimed
  }

  #settleOne(settlement: Settlement, nowMs: number): void {
    const { delivery } = settlement
    // Only the lease it was given out with: settling twice changes nothing.
    if (this.#leased.get(delivery.id) !== delivery) return
    this.#leased.delete(delivery.id)
    switch (settlement.kind) {
      case 'delivered':
      case 'failed':
      case 'expired':
        this.#counts[settlement.kind]++
        this.#counts.pending--
        this.#pendingBytes -= Buffer.byteLength(delivery.body)
        break
      case 'retry': {
        const { firstAttemptAtMs, refusedUrls, dueAtMs } = settlement
        const attempts = delivery.attempts + 1
        this.#enqueue({ ...delivery, attempts, firstAttemptAtMs, refusedUrls }, dueAtMs)
        break
      }
      case 'returned':
        this.#enqueue(delivery, nowMs)
        break
    }
  }

  #letIn(): void {
    if (!this.#closed && this.#isFull()) return
    for (const enter of this.#roomWaiters.splice(0)) enter()
  }

  #isFull(): boolean {
    return this.#counts.pending >= this.#pendingMax || this.#pendingBytes >= this.#pendingBytesMax
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

function newDelivery(id: number, event: NewEvent, delivery: NewDelivery): LeasedDelivery {
  return {
    id,
    destinationId: delivery.destinationId,
    messageId: event.messageId,
    type: event.type,
    body: delivery.body,
    attempts: 0,
    firstAttemptAtMs: null,
    refusedUrls: [],
  }
}
