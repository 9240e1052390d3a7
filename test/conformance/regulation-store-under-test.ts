import { expect } from 'vitest'
import type { DeliveryStory, LeasedDelivery, NewEvent } from '../../src/delivery/index.ts'
import type { RegulationType } from '../../src/model/index.ts'
import type {
  EraseResult,
  NewRegulation,
  NotificationStream,
  Regulation,
} from '../../src/privacy/index.ts'
import type { Store } from '../../src/store/index.ts'
import { nowMs, requestOf, retried, StoreUnderTest } from './store-under-test.ts'

/** The fields of an event that matter to a test. `to` lists its destinations. */
export type EventDetails = Partial<NewEvent> & { readonly to?: readonly string[] }

let eventsMade = 0

/** Makes an event about a user, by default from `website` to `crm`. */
export function eventAbout(userId: string | null, details: EventDetails = {}): NewEvent {
  const { to = ['crm'], ...fields } = details
  eventsMade++
  const messageId = `m_${eventsMade}`
  const deliveries = to.map((destinationId) => ({
    destinationId,
    body: JSON.stringify({ userId, messageId }),
  }))
  return { sourceId: 'website', messageId, type: 'track', userId, deliveries, ...fields }
}

/** Makes a notification about a user. */
export function notificationAbout(userId: string, details: EventDetails = {}): NewEvent {
  return eventAbout(userId, { type: 'delete', ...details })
}

/** Makes the counts of a stream. Counts that are not given are 0. */
export function stream(
  sourceId: string,
  destinationId: string,
  counts: Partial<NotificationStream>,
): NotificationStream {
  const none = { pending: 0, delivered: 0, failed: 0, expired: 0 }
  return { sourceId, destinationId, ...none, ...counts }
}

/** The store of the current test, with operations that tests of regulations share. */
export class RegulationsUnderTest extends StoreUnderTest {
  #opened: Store | undefined
  #made = 0

  constructor(open: () => Promise<Store>) {
    super(async () => (this.#opened = await open()))
  }

  /** The store with all its ports. */
  get all(): Store {
    if (this.#opened === undefined) throw new Error('begin() was not called')
    return this.#opened
  }

  /** Stores a regulation, by default for all sources and without notifications. Returns its id. */
  async create(
    type: RegulationType,
    userIds: readonly string[],
    options: Partial<NewRegulation> & { atMs?: number; notifications?: readonly NewEvent[] } = {},
  ): Promise<string> {
    this.#made++
    const { id = `r_${this.#made}`, sourceIds = null, atMs = nowMs, notifications = [] } = options
    const regulation = { id, type, userIds, sourceIds }
    await this.all.regulations.create({ regulation, notifications, nowMs: atMs })
    return id
  }

  /** Returns a regulation, which must exist. */
  async regulation(id: string): Promise<Regulation> {
    const found = await this.all.regulations.find({ id })
    expect(found).toBeDefined()
    return found!
  }

  /** Erases until nothing more can be erased now, and audits the store after every step. */
  async erase(id: string, options: { rowsMax?: number; atMs?: number } = {}): Promise<EraseResult> {
    const { rowsMax = 1_000, atMs = nowMs } = options
    for (let turn = 0; turn < 500; turn++) {
      const result = await this.all.regulations.erase({ id, nowMs: atMs, rowsMax })
      await this.expectBalance()
      if (result !== 'more') return result
    }
    throw new Error('the erasure never ends')
  }

  /** Returns all deliveries with their bodies and requests, by id. */
  async stories(): Promise<readonly DeliveryStory[]> {
    const listed = await this.list({}, { limit: 10_000 })
    const stories = await Promise.all(listed.map((delivery) => this.story(delivery)))
    return stories.toSorted((a, b) => a.id - b.id)
  }

  /** Adds an event and leases its delivery to `crm`, which must be the only one due. */
  async leaseAbout(userId: string, details: EventDetails = {}): Promise<LeasedDelivery> {
    await this.add([eventAbout(userId, details)])
    return this.claimOne('crm')
  }

  /** Logs a failed request and schedules a retry. */
  retryLater(delivery: LeasedDelivery, dueAtMs: number = nowMs): Promise<unknown> {
    return this.log([requestOf(delivery)], retried(delivery, dueAtMs))
  }
}
