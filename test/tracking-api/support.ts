import { EventEmitter, once } from 'node:events'
import { request } from 'undici'
import { onTestFinished } from 'vitest'
import { listen } from '../../src/http/index.ts'
import { Intake, type IntakeBatch } from '../../src/intake/index.ts'
import type { Destination, JsonObject } from '../../src/model/index.ts'
import { createRuntime, lineLog, ManualClock, type Clock } from '../../src/runtime/index.ts'
import { MemoryStore } from '../support/memory-store.ts'
import {
  SourceDirectory,
  trackingApp,
  trackingFaultAnswer,
  type CountedCalls,
  type RefusedRequest,
  type TrackingApiOptions,
  type TrackingObserver,
} from '../../src/tracking-api/index.ts'
import type { RejectedCall } from '../../src/tracking-api/answer.ts'

export { dial, postHead, readAll } from '../http/raw-client.ts'

/** The time at which the clocks of these tests stand still. */
export const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

/** `nowMs` as a timestamp. */
export const now = '2026-01-02T03:04:05.678Z'

export const writeKey = 'wk_example'

/** This source may send two calls per second. */
export const slowWriteKey = 'wk_example_slow'

export const disabledWriteKey = 'wk_example_disabled'

const directory = new SourceDirectory([
  { id: 'website', enabled: true, writeKeys: ['wk_example_next', writeKey] },
  { id: 'slow', enabled: true, eventsPerSecond: 2, writeKeys: [slowWriteKey] },
  { id: 'old', enabled: false, writeKeys: [disabledWriteKey] },
])

/** A destination of every source. */
export const crm: Destination = {
  id: 'crm',
  sourceIds: ['website', 'slow', 'old'],
  enabled: true,
  endpoints: [{ url: 'https://crm.example.com/', headers: {} }],
  sharedSecret: undefined,
  aliasKeys: 'camel',
  acceptsHistorical: true,
  concurrency: 10,
}

/** A tracking API that runs until the test ends, with a real intake and an in-memory store. */
export interface TestApi {
  readonly url: string
  readonly port: number
  /** The webhooks that were stored since the last call, oldest first. */
  readonly webhooks: () => Promise<readonly JsonObject[]>
  /** The calls passed to intake, in order, including refused ones. */
  readonly batches: readonly IntakeBatch[]
  /** Resolves once intake has finished this many batches. */
  readonly handled: (batches: number) => Promise<void>
  /** The observer's notifications. */
  readonly counted: readonly CountedCalls[]
  /** The sources whose calls were stored. */
  readonly stored: readonly string[]
  readonly refused: readonly RefusedRequest[]
  /** The first rejected calls of each request. */
  readonly rejected: readonly (RejectedCall & { readonly sourceId: string })[]
  /** The lines of the log. */
  readonly logged: readonly string[]
}

/** Overrides; by default everything is accepted and the clock stands still. */
export interface TestApiOptions extends Partial<Omit<TrackingApiOptions, 'accept' | 'runtime'>> {
  readonly clock?: Clock
  /** Wraps intake. */
  readonly accept?: (batch: IntakeBatch, intake: Intake) => ReturnType<Intake['accept']>
}

export async function startApi(options: TestApiOptions = {}): Promise<TestApi> {
  const { clock = new ManualClock(nowMs), accept, ...replacements } = options
  const logged: string[] = []
  const batches: IntakeBatch[] = []
  const counted: CountedCalls[] = []
  const stored: string[] = []
  const refused: RefusedRequest[] = []
  const rejected: (RejectedCall & { readonly sourceId: string })[] = []
  const ends = new EventEmitter()
  let handledCount = 0
  let ids = 0
  const log = lineLog((line) => logged.push(line))
  const runtime = createRuntime({ clock, log, newId: () => `id-${++ids}` })
  const store = new MemoryStore({ bytesMax: Infinity })
  onTestFinished(() => store.close())
  const intake = new Intake({
    add: async (events) => {
      const batch = { nowMs: clock.nowMs(), seenSinceMs: 0, events, handOver: [] }
      return (await store.add(batch)).outcomes
    },
    destinations: [crm],
    runtime,
  })
  const app = trackingApp({
    sourceOf: (key) => directory.find(key),
    accept: async (batch) => {
      batches.push(batch)
      try {
        return await (accept === undefined ? intake.accept(batch) : accept(batch, intake))
      } finally {
        handledCount++
        ends.emit('end')
      }
    },
    isFull: () => false,
    runtime,
    observer: {
      calls: (calls) => counted.push(calls),
      stored: ({ sourceId }) => stored.push(sourceId),
      rejected: (sourceId, calls) => rejected.push(...calls.map((call) => ({ sourceId, ...call }))),
      refused: (one) => refused.push(one),
    },
    ...replacements,
  })
  const address = { host: '127.0.0.1', port: 0 }
  const listening = await listen(app, address, { answerFault: trackingFaultAnswer })
  onTestFinished(() => listening.close(0))
  return {
    url: listening.url,
    port: listening.port,
    batches,
    handled: async (count) => {
      while (handledCount < count) await once(ends, 'end')
    },
    counted,
    stored,
    refused,
    rejected,
    logged,
    webhooks: async () => {
      const dueByMs = clock.nowMs()
      const share = { destinationId: 'crm', lane: 'first' as const, dueByMs, deliveriesMax: 10_000 }
      const deliveries = await store.claim({ nowMs: dueByMs, shares: [share] })
      return deliveries.map(({ body }) => JSON.parse(body) as JsonObject)
    },
  }
}

/** A clock that moves on after each refused request, far enough for the next one to be accepted. */
export function rateThatRecovers(): {
  readonly clock: Clock
  readonly observer: TrackingObserver
  /** The reasons for which requests were refused, in order. */
  readonly codes: readonly string[]
} {
  const clock = new ManualClock(nowMs)
  const codes: string[] = []
  const refused = ({ code }: RefusedRequest): void => {
    codes.push(code)
    clock.jump(10_000)
  }
  const nothing = () => undefined
  return { clock, observer: { calls: nothing, stored: nothing, rejected: nothing, refused }, codes }
}

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly bytes: Buffer
  /** The body as JSON; accessing it throws if it is not JSON. */
  readonly json: unknown
}

export interface Sent {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** Sends a request, by default to `/v1/batch`, and reads the answer. */
export async function send(url: string, sent: Sent): Promise<Reply> {
  const { method = 'POST', path = '/v1/batch', headers = {}, body } = sent
  const response = await request(`${url}${path}`, {
    method: method as 'POST',
    headers,
    body: body ?? null,
  })
  const bytes = Buffer.from(await response.body.arrayBuffer())
  return {
    status: response.statusCode,
    headers: response.headers,
    bytes,
    get json() {
      return JSON.parse(bytes.toString('utf8')) as unknown
    },
  }
}

/** The header with the write key. */
export function basic(user: string): Readonly<Record<string, string>> {
  return { authorization: `Basic ${Buffer.from(user).toString('base64')}` }
}
