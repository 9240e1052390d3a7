import { request } from 'undici'
import { onTestFinished } from 'vitest'
import {
  adminApp,
  adminConnectionLimits,
  adminFaultAnswer,
  Metrics,
  queueStates,
  type AdminApiOptions,
} from '../../src/admin-api/index.ts'
import { listen, PageSessions, type ConnectionLimits } from '../../src/http/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { MemoryStore } from '../support/memory-store.ts'
import { addSamples, nowMs, type Sample } from '../cli/deliveries/stores.ts'
import { recordingRuntime } from '../support/recording-runtime.ts'

export const token = 'not-a-real-token'

/** Tokens and access settings. */
export const access = { host: '127.0.0.1', token, metricsToken: null }

/** Overrides; by default the admin API has an empty store. */
export interface AdminSettings {
  readonly samples?: readonly Sample[]
  readonly options?: Partial<AdminApiOptions>
  readonly clock?: ManualClock
  readonly limits?: Partial<ConnectionLimits>
}

const unexpected = () => Promise.reject(new Error('Not expected in this test'))
/** Audiences and regulations that must not be called. */
const audiences = { list: unexpected, members: unexpected, sync: unexpected, remove: unexpected }
const regulations = { list: unexpected, find: unexpected, create: unexpected }

/** Starts an admin API on its own port, until the test ends. */
export async function startAdmin(settings: AdminSettings = {}) {
  const { samples = [], options = {}, clock = new ManualClock(nowMs), limits } = settings
  const store = new MemoryStore()
  await addSamples(store, samples)
  const { runtime, infos, warnings } = recordingRuntime(clock)
  const queues = await queueStates(store, ['crm', 'mail'], nowMs)
  const figures = { queues, tables: [], measuredAtMs: clock.nowMs() }
  const metrics = new Metrics({ figures: () => figures, runtime })
  const app = adminApp({
    access,
    store,
    wake: () => undefined,
    destinations: () => Promise.resolve([]),
    isDisabledByHand: () => false,
    orphanedBacklogs: () => Promise.resolve([]),
    destinationActions: { setEnabled: () => false, sendTest: () => Promise.resolve(undefined) },
    sources: () => ({ url: 'http://127.0.0.1:4000', sources: [] }),
    replay: () => Promise.resolve({ kind: 'no_archive' }),
    audiences,
    regulations,
    ready: () => Promise.resolve([]),
    metrics,
    sessions: new PageSessions({ clock }),
    actions: runtime.log.info,
    runtime,
    ...options,
  })
  const address = { host: '127.0.0.1', port: 0 }
  const listening = await listen(app, address, {
    ...limits,
    ...adminConnectionLimits,
    answerFault: adminFaultAnswer,
  })
  onTestFinished(() => listening.close())
  const { url, port } = listening
  return { url, port, store, metrics, infos, warnings }
}

/** A request to an admin API. */
export interface RequestOptions {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE' | 'OPTIONS' | 'PATCH'
  /** Headers besides the token. */
  readonly headers?: Readonly<Record<string, string>>
  /** With false, the request has no token. */
  readonly hasToken?: boolean
  readonly body?: string | Buffer | object
}

/** Sends a request with the token. */
export async function sendRequest(url: string, options: RequestOptions = {}) {
  const { method = 'GET', headers = {}, hasToken = true, body } = options
  const response = await request(url, {
    method,
    headers: { ...(hasToken ? { authorization: `Bearer ${token}` } : {}), ...headers },
    body:
      body === undefined || typeof body === 'string' || Buffer.isBuffer(body)
        ? (body ?? null)
        : JSON.stringify(body),
  })
  const text = await response.body.text()
  const isJson = response.headers['content-type'] === 'application/json'
  return {
    status: response.statusCode,
    headers: response.headers,
    text,
    body: isJson && text !== '' ? (JSON.parse(text) as unknown) : undefined,
  }
}
