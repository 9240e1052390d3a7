import { expect } from 'vitest'
import {
  leasedOf,
  type AddOutcome,
  type AddRequest,
  type AddResult,
  type DeliveryFilter,
  type DeliveryKey,
  type DeliveryProgress,
  type DeliveryStore,
  type DeliveryStory,
  type DueTime,
  type LeasedDelivery,
  type LoggedDelivery,
  type NewEvent,
  type PurgeRequest,
  type PurgeResult,
  type Settlement,
} from '../../src/delivery/index.ts'
import { imbalances, type Lane, type RequestRecord } from '../../src/model/index.ts'

/** The time of all calls unless a test says otherwise. */
export const nowMs: number = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

/** A purge for which nothing is old enough. */
export const keepAll: PurgeRequest = {
  nowMs,
  deliveredBeforeMs: 0,
  failedBeforeMs: 0,
  abandonedBeforeMs: 0,
  messageIdsBeforeMs: 0,
  rowsMax: 1_000,
}

/** Makes an event from `website` to the given destinations. */
export function event(messageId: string, ...destinationIds: readonly string[]): NewEvent {
  return {
    sourceId: 'website',
    messageId,
    type: 'track',
    userId: 'u_1',
    deliveries: destinationIds.map((destinationId) => ({
      destinationId,
      body: `{"to":"${destinationId}","messageId":"${messageId}"}`,
    })),
  }
}

/** Makes events with the messageIds `m_1`, `m_2` and so on. */
export function events(count: number, ...destinationIds: readonly string[]): readonly NewEvent[] {
  return Array.from({ length: count }, (_, index) => event(`m_${index + 1}`, ...destinationIds))
}

/** Ends a lease after a successful round. */
export function delivered(delivery: LeasedDelivery): Settlement {
  return { kind: 'delivered', delivery, attempts: delivery.attempts + 1 }
}

/** Ends a lease after a successful first try, with its request. */
export function deliveredAtOnce(
  delivery: LeasedDelivery,
  { url, atMs, status, durationMs, excerpt }: RequestRecord,
): Settlement {
  const firstTry = { url, atMs, status, durationMs, excerpt }
  return { kind: 'delivered', delivery, attempts: 1, firstTry }
}

/** Ends a lease after the last round, which failed. */
export function ended(kind: 'failed' | 'expired', delivery: LeasedDelivery): Settlement {
  return { kind, delivery, attempts: delivery.attempts + 1, reason: 'status_404' }
}

/** Ends a lease after a failed round, and schedules a retry. */
export function retried(
  delivery: LeasedDelivery,
  dueAtMs: number = nowMs,
  progress: Partial<DeliveryProgress> = {},
): Settlement & { readonly kind: 'retry' } {
  return {
    kind: 'retry',
    delivery,
    dueAtMs,
    expiresAtMs: nowMs + 4 * 3_600_000,
    reason: 'status_503',
    progress: {
      attempts: delivery.attempts + 1,
      windowAttempts: delivery.windowAttempts + 1,
      firstAttemptAtMs: delivery.firstAttemptAtMs ?? nowMs,
      holds: delivery.holds,
      ...progress,
    },
  }
}

/** Ends a lease without a round. */
export function returned(delivery: LeasedDelivery, dueAtMs: number = nowMs): Settlement {
  return { kind: 'returned', delivery, dueAtMs }
}

/** Makes the record of a request for a delivery; by default it failed with 503. */
export function requestOf(
  delivery: LeasedDelivery,
  details: Partial<RequestRecord> = {},
): RequestRecord {
  return {
    destinationId: delivery.destinationId,
    deliveryId: delivery.id,
    messageId: delivery.messageId,
    url: 'https://example.com/hook',
    lane: delivery.lane,
    attempt: delivery.attempts + 1,
    atMs: nowMs,
    outcome: 'retry',
    status: 503,
    error: 'status_503',
    durationMs: 12,
    excerpt: 'try later',
    ...details,
  }
}

/** The result of an add, with the leased deliveries in full. */
export interface Added extends Omit<AddResult, 'leased'> {
  readonly leased: readonly LeasedDelivery[]
}

/** Adds a batch, and returns the leased deliveries in full. */
export async function addAndLease(store: DeliveryStore, batch: AddRequest): Promise<Added> {
  const added = await store.add(batch)
  return { ...added, leased: leasedOf(batch, added.leased) }
}

/** Returns the messageIds of deliveries, in order. */
export function messageIds(
  deliveries: readonly { readonly messageId: string }[],
): readonly string[] {
  return deliveries.map(({ messageId }) => messageId)
}

/** The store of the current test, with operations that tests share. */
export class StoreUnderTest {
  readonly #open: () => Promise<DeliveryStore>
  #store: DeliveryStore | undefined

  constructor(open: () => Promise<DeliveryStore>) {
    this.#open = open
  }

  /** The store. */
  get store(): DeliveryStore {
    if (this.#store === undefined) throw new Error('begin() was not called')
    return this.#store
  }

  /** Opens an empty store. */
  async begin(): Promise<void> {
    this.#store = await this.#open()
  }

  /** Audits the store, then closes it. */
  async end(): Promise<void> {
    try {
      await this.expectBalance()
      const { ledger } = await this.store.audit()
      expect(await this.store.ledger()).toEqual(ledger)
    } finally {
      await this.store.close()
    }
  }

  /** Adds events, by default at {@link nowMs} and without leasing any delivery. */
  add(
    newEvents: readonly NewEvent[],
    options: Partial<Omit<AddRequest, 'nowMs' | 'events'>> & { atMs?: number } = {},
  ): Promise<Added> {
    const { atMs = nowMs, seenSinceMs = 0, handOver = [], traceparent } = options
    const batch = { nowMs: atMs, seenSinceMs, events: newEvents, handOver, traceparent }
    return addAndLease(this.store, batch)
  }

  /** Adds events and returns their outcomes. */
  async outcomes(
    newEvents: readonly NewEvent[],
    options: { atMs?: number; seenSinceMs?: number } = {},
  ): Promise<readonly AddOutcome[]> {
    return (await this.add(newEvents, options)).outcomes
  }

  /** Adds an event for `crm` and leases its delivery, which must be the only one due. */
  async leaseOne(messageId = 'm_1'): Promise<LeasedDelivery> {
    await this.add([event(messageId, 'crm')])
    return this.claimOne('crm')
  }

  /** Adds an event for `crm` and settles its delivery as failed. */
  async failOne(messageId = 'm_1'): Promise<LeasedDelivery> {
    const delivery = await this.leaseOne(messageId)
    await this.settle(ended('failed', delivery))
    return delivery
  }

  /** Claims deliveries, by default those due in the lane `first`. */
  claim(
    destinationId: string,
    options: { lane?: Lane; deliveriesMax?: number; dueByMs?: number } = {},
  ): Promise<readonly LeasedDelivery[]> {
    const { lane = 'first', deliveriesMax = 100, dueByMs = nowMs } = options
    return this.store.claim({ nowMs, shares: [{ destinationId, lane, deliveriesMax, dueByMs }] })
  }

  /** Claims the only delivery that is due in a lane. */
  async claimOne(
    destinationId: string,
    options: { lane?: Lane; dueByMs?: number } = {},
  ): Promise<LeasedDelivery> {
    const claimed = await this.claim(destinationId, options)
    expect(claimed).toHaveLength(1)
    return claimed[0]!
  }

  /** Settles leases. */
  settle(...settlements: readonly Settlement[]): Promise<readonly Settlement[]> {
    return this.settleAt(nowMs, ...settlements)
  }

  /** Settles leases at a given time. */
  settleAt(atMs: number, ...settlements: readonly Settlement[]): Promise<readonly Settlement[]> {
    return this.store.settle({ nowMs: atMs, settlements, requests: [] })
  }

  /** Logs requests and settles leases. */
  log(
    requests: readonly RequestRecord[],
    ...settlements: readonly Settlement[]
  ): Promise<readonly Settlement[]> {
    return this.store.settle({ nowMs, settlements, requests })
  }

  /** Returns when lanes are due, sorted by destination and lane. */
  async nextDue(...destinationIds: readonly string[]): Promise<readonly DueTime[]> {
    const key = ({ destinationId, lane }: DueTime): string => `${destinationId} ${lane}`
    const dueTimes = await this.store.nextDue({ nowMs, destinationIds })
    return dueTimes.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
  }

  /** Lists deliveries; all by default. */
  list(
    filter: DeliveryFilter = {},
    options: { limit?: number; beforeId?: number } = {},
  ): Promise<readonly LoggedDelivery[]> {
    return this.store.list({ filter, limit: 100, ...options })
  }

  /** Returns a delivery with its body and requests. It must exist. */
  async story({ destinationId, id }: DeliveryKey): Promise<DeliveryStory> {
    const story = await this.store.story({ destinationId, id })
    expect(story).toBeDefined()
    return story!
  }

  /** Retries deliveries manually; all that can be retried by default. */
  async retry(
    filter: DeliveryFilter = {},
    options: { atMs?: number; limit?: number } = {},
  ): Promise<number> {
    const { atMs = nowMs, limit = 100 } = options
    return (await this.store.retry({ nowMs: atMs, filter, limit })).deliveries
  }

  /** Discards pending deliveries; all by default. */
  async discard(
    filter: DeliveryFilter = {},
    { limit = 100 }: { readonly limit?: number } = {},
  ): Promise<number> {
    return (await this.store.discard({ nowMs, filter, limit })).deliveries
  }

  /** Purges the store; by default nothing is old enough. */
  purge(request: Partial<PurgeRequest>): Promise<PurgeResult> {
    return this.store.purge({ ...keepAll, ...request })
  }

  /** Checks the ledger against the stored and the purged deliveries. */
  async expectBalance(): Promise<void> {
    const { ledger, counted, purged, withoutBody } = await this.store.audit()
    expect(imbalances({ ...ledger, read: ledger.accepted, rejected: 0 })).toEqual([])
    expect({
      pending: counted.pending,
      delivered: counted.delivered + purged.delivered,
      failed: counted.failed + purged.failed,
      expired: counted.expired + purged.expired,
    }).toEqual({
      pending: ledger.pending,
      delivered: ledger.delivered,
      failed: ledger.failed,
      expired: ledger.expired,
    })
    expect(withoutBody).toBe(0)
  }
}
