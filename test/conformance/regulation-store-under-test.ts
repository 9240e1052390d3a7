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

/** The fields of an event that a test is about. */
export type EventDetails = Partial<NewEvent> & { readonly to?: readonly string[] }

let eventsMade = 0

/** An event about a user, of the source `website`, for `crm` unless it is told otherwise. */
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

/** A notification about a user. */
export function notificationAbout(userId: string, details: EventDetails = {}): NewEvent {
  return eventAbout(userId, { type: 'delete', ...details })
}

/** The counts of a stream that has the others at zero. */
export function stream(
  sourceId: string,
  destinationId: string,
  counts: Partial<NotificationStream>,
): NotificationStream {
  const none = { pending: 0, delivered: 0, failed: 0, expired: 0 }
  return { sourceId, destinationId, ...none, ...counts }
}

/** The store of the running test, with the operations that tests of regulations share. */
export class RegulationsUnderTest extends StoreUnderTest {
  #opened: Store | undefined
  #made = 0

  constructor(open: () => Promise<Store>) {
    super(async () => (this.#opened = await open()))
  }

  /** The store itself. */
  get all(): Store {
    if (this.#opened === undefined) throw new Error('no test runs')
    return this.#opened
  }

  /** Stores a regulation of all sources, without notifications unless it is told otherwise. */
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

  /** A regulation that is there. */
  async regulation(id: string): Promise<Regulation> {
    const found = await this.all.regulations.find({ id })
    expect(found).toBeDefined()
    return found!
  }

  /** Erases until there is nothing more to look at now, with a look into the books after every part. */
  async erase(id: string, options: { rowsMax?: number; atMs?: number } = {}): Promise<EraseResult> {
    const { rowsMax = 1_000, atMs = nowMs } = options
    for (let turn = 0; turn < 500; turn++) {
      const result = await this.all.regulations.erase({ id, nowMs: atMs, rowsMax })
      await this.expectBalance()
      if (result !== 'more') return result
    }
    throw new Error('the erasure does not come to an end')
  }

  /** Every delivery that is there, with its text and its requests, by destination and order. */
  async stories(): Promise<readonly DeliveryStory[]> {
    const listed = await this.list({}, { limit: 10_000 })
    const stories = await Promise.all(listed.map((delivery) => this.story(delivery)))
    return stories.toSorted((a, b) => a.id - b.id)
  }

  /** Adds an event and leases its delivery to `crm`, which has no other that is due. */
  async leaseAbout(userId: string, details: EventDetails = {}): Promise<LeasedDelivery> {
    await this.add([eventAbout(userId, details)])
    return this.claimOne('crm')
  }

  /** Lets a delivery wait for a retry, with an answer in the log. */
  putOff(delivery: LeasedDelivery, dueAtMs: number = nowMs): Promise<unknown> {
    return this.log([requestOf(delivery)], retried(delivery, dueAtMs))
  }
}
