import type { DeliveryListRecord } from '../../../src/admin-api/index.ts'
import { join } from 'node:path'
import {
  loggedDeliveryRecord,
  type DeliveryStore,
  type EndpointHold,
  type LoggedDelivery,
  type NewEvent,
  type Settlement,
} from '../../../src/delivery/index.ts'
import type { EventType, RequestRecord } from '../../../src/model/index.ts'
import { systemClock } from '../../../src/runtime/index.ts'
import { openStore } from '../../../src/store/index.ts'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { addAndLease } from '../../conformance/store-under-test.ts'

/** A {@link Settlement} without its delivery. */
type End = Settlement extends infer Each
  ? Each extends Settlement
    ? Omit<Each, 'delivery'>
    : never
  : never

/** An event with one delivery. */
export interface Sample {
  readonly messageId?: string
  readonly type?: EventType
  readonly userId?: string | null
  readonly sourceId?: string
  readonly destinationIds?: readonly string[]
  readonly body?: string
  /** How long ago it was accepted; an hour by default. */
  readonly ageMs?: number
  /** How its lease ended; it still waits for its first attempt by default. */
  readonly end?: End
  /** The logged requests. By default, each is a first attempt that was answered with 503. */
  readonly requests?: readonly Partial<RequestRecord>[]
}

/** A store in a file. */
export interface SampleStore {
  readonly path: string
  /** The value for `--store`. */
  readonly url: string
}

export const hourMs = 3_600_000

/** The time that the samples are relative to: when this module was loaded. */
export const nowMs: number = systemClock.nowMs()

/** A delivery that succeeded at once. */
export const delivered: Sample = { end: { kind: 'delivered', attempts: 1 } }
/** A delivery that was refused. */
export const failed: Sample = { end: { kind: 'failed', attempts: 1, reason: 'status_404' } }
/** A delivery whose window ended. */
export const expired: Sample = { end: { kind: 'expired', attempts: 9, reason: 'timeout' } }
/** A delivery that is retried in an hour. */
export const retried: Sample = retriedWithout([])

/** A delivery that is retried in an hour, with holds on some endpoints. */
export function retriedWithout(holds: readonly EndpointHold[]): Sample {
  const progress = { attempts: 3, windowAttempts: 3, firstAttemptAtMs: nowMs - hourMs, holds }
  const [dueAtMs, expiresAtMs] = [nowMs + hourMs, nowMs + 3 * hourMs]
  return { end: { kind: 'retry', dueAtMs, expiresAtMs, progress, reason: 'status_503' } }
}

/** Creates a store file with these deliveries, numbered from 1 in this order. */
export function storeWith(...samples: readonly Sample[]): Promise<SampleStore> {
  return filledStore((store) => addSamples(store, samples))
}

/** Adds these deliveries to a store, numbered from 1 in this order. */
export async function addSamples(store: DeliveryStore, samples: readonly Sample[]): Promise<void> {
  for (const [index, sample] of samples.entries()) await addSample(store, sample, [index + 1])
}

/** Creates a store file with this many copies of a sample. */
export function storeOf(count: number, sample: Sample): Promise<SampleStore> {
  const numbers = Array.from({ length: count }, (_, index) => index + 1)
  return filledStore((store) => addSample(store, sample, numbers))
}

async function filledStore(fill: (store: DeliveryStore) => Promise<unknown>): Promise<SampleStore> {
  const path = join(await temporaryFolder(), 'evroute.db')
  const url = `sqlite:${path}`
  const store = await openStore(url)
  await fill(store).finally(() => store.close())
  return { path, url }
}

async function addSample(
  store: DeliveryStore,
  sample: Sample,
  numbers: readonly number[],
): Promise<void> {
  const { destinationIds = ['crm'], ageMs = hourMs, end, requests = [] } = sample
  const atMs = nowMs - ageMs
  const deliveriesMax = end === undefined ? 0 : numbers.length
  const { leased } = await addAndLease(store, {
    nowMs: atMs,
    seenSinceMs: 0,
    events: numbers.map((number) => eventOf(sample, destinationIds, number)),
    handOver: destinationIds.map((destinationId) => ({ destinationId, deliveriesMax })),
  })
  await store.settle({
    nowMs: atMs + 2_000,
    settlements: end === undefined ? [] : leased.map((delivery) => ({ delivery, ...end })),
    requests: leased.flatMap((delivery) =>
      requests.map((request) => ({ ...requestOf(delivery, atMs), ...request })),
    ),
  })
}

function eventOf(sample: Sample, destinationIds: readonly string[], number: number): NewEvent {
  const { type = 'track', userId = 'u_1', sourceId = 'website' } = sample
  const messageId = sample.messageId ?? `m_${number}`
  const body = sample.body ?? JSON.stringify({ version: 1, type, messageId })
  const deliveries = destinationIds.map((destinationId) => ({ destinationId, body }))
  return { sourceId, messageId, type, userId, deliveries }
}

function requestOf(
  delivery: Pick<LoggedDelivery, 'destinationId' | 'id' | 'messageId'>,
  atMs: number,
): RequestRecord {
  return {
    destinationId: delivery.destinationId,
    deliveryId: delivery.id,
    messageId: delivery.messageId,
    url: 'https://example.com/hook',
    lane: 'first',
    attempt: 1,
    atMs: atMs + 1_000,
    outcome: 'retry',
    status: 503,
    error: 'status_503',
    durationMs: 12,
    excerpt: '',
  }
}

/** Runs SQL directly on the file of a store. */
export async function falsify({ path }: SampleStore, sql: string): Promise<void> {
  const database = await openDatabase(path, 'write')
  database.exec(sql)
  database.close()
}

/** A delivery as the log lists it. */
export function logged(details: Partial<LoggedDelivery> = {}): DeliveryListRecord {
  return loggedDeliveryRecord({
    destinationId: 'crm',
    id: 17,
    sourceId: 'website',
    messageId: '5e1b7f0a-9c3d-4e2a-8b17-000000000001',
    type: 'track',
    eventName: null,
    userId: 'u_1',
    state: 'pending',
    lane: 'first',
    attempts: 0,
    windowAttempts: 0,
    firstAttemptAtMs: null,
    holds: [],
    acceptedAtMs: nowMs - hourMs,
    dueAtMs: nowMs - hourMs,
    expiresAtMs: null,
    settledAtMs: null,
    reason: null,
    manualRetries: 0,
    ...details,
  })
}
