import type { ClientOptions } from '../../../dist/index.js'
import { createLimitTracker } from './limit-tracker.ts'

/** A call as an application passes it to its client. */
export interface SampleCall {
  readonly userId: string
  readonly event: string
  readonly properties: Readonly<Record<string, string | number>>
}

/** Takes calls and sends them in the background. */
export interface Tracker {
  readonly track: (call: SampleCall) => void
  /** Sends the remaining calls, and waits until every call is answered. */
  readonly flush: () => Promise<void>
}

/** Where a tracker sends its calls, and how many in a batch. */
export interface TrackerSettings {
  /** The sink's origin, without a trailing slash. */
  readonly origin: string
  /** Calls per batch. */
  readonly flushAt: number
}

/** The queue limit of the clients that have one; no run reaches it. */
const queueMax = 50_000
const key = 'wk_example'

/**
 * All trackers by name; `none` drops the calls. Compression is off, because evroute has none. Options other
 * than the batch size and the queue limit are the defaults.
 */
const trackers = {
  evroute: (settings: TrackerSettings) => createEvrouteTracker(settings),
  'evroute joining': (settings: TrackerSettings) =>
    createEvrouteTracker(settings, { batchMax: Math.max(settings.flushAt, 250) }),
  '@segment/analytics-node': createSegmentTracker,
  'posthog-node': createPosthogTracker,
  limit: createLimitTracker,
  none: () => ({ track: () => undefined, flush: () => Promise.resolve() }),
} satisfies Record<string, (settings: TrackerSettings) => Tracker | Promise<Tracker>>

export type TrackerName = keyof typeof trackers

/** Creates a tracker, and imports only the package that it needs. */
export async function createTracker(
  name: TrackerName,
  settings: TrackerSettings,
): Promise<Tracker> {
  return await trackers[name](settings)
}

async function createEvrouteTracker(
  { origin, flushAt }: TrackerSettings,
  options: ClientOptions = {},
): Promise<Tracker> {
  const { Client } = await import('../../../dist/index.js')
  const endpoint = `${origin}/v1/batch`
  const client = new Client(key, { endpoint, flushAt, queueMax, ...options })
  return {
    track: (call) => {
      const { status } = client.track(call)
      if (status !== 'queued') throw new Error(`The call was not queued: ${status}`)
    },
    flush: () => client.flush(),
  }
}

async function createSegmentTracker({ origin, flushAt }: TrackerSettings): Promise<Tracker> {
  const { Analytics } = await import('@segment/analytics-node')
  const analytics = new Analytics({ writeKey: key, host: origin, flushAt })
  return { track: (call) => analytics.track(call), flush: () => analytics.flush() }
}

async function createPosthogTracker({ origin, flushAt }: TrackerSettings): Promise<Tracker> {
  const { PostHog } = await import('posthog-node')
  const client = new PostHog(key, {
    host: origin,
    flushAt,
    maxQueueSize: queueMax,
    disableCompression: true,
  })
  let waiting = 0
  client.on('flush', (messages: readonly unknown[]) => (waiting -= messages.length))
  return {
    track: ({ userId, event, properties }) => {
      waiting++
      client.capture({ distinctId: userId, event, properties })
    },
    // `capture` queues a call only after it has returned.
    flush: async () => {
      while (waiting > 0) await client.flush()
    },
  }
}
