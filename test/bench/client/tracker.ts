import type { ClientOptions } from '../../../dist/index.js'
import { createLimitTracker } from './limit-tracker.ts'

/** A call as a program hands it to its client. */
export interface SampleCall {
  readonly userId: string
  readonly event: string
  readonly properties: Readonly<Record<string, string | number>>
}

/** What takes calls and sends them in the background. */
export interface Tracker {
  /** Takes one. */
  readonly track: (call: SampleCall) => void
  /** Sends what is left, and waits until all that was taken has been answered. */
  readonly flush: () => Promise<void>
}

/** Where a tracker sends to, and in what portions. */
export interface TrackerSettings {
  /** The sink's, without a slash at the end. */
  readonly origin: string
  /** Calls that make a batch full. */
  readonly flushAt: number
}

/** Calls that may wait, wherever that can be said: more than are ever made at once. */
const queueMax = 50_000
const key = 'wk_example'

/**
 * Everything that calls are given to, by name; `none` lets them go. Compression is off, as evroute has
 * none, and nothing is sent before its batch is full. Everything else is as it comes.
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

/** What calls are given to. */
export type TrackerName = keyof typeof trackers

/** Makes one, and loads no package but its own. */
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
      if (status !== 'queued') throw new Error(`The call is ${status}`)
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
    // A call is not in its queue yet when it returns from `capture`.
    flush: async () => {
      while (waiting > 0) await client.flush()
    },
  }
}
