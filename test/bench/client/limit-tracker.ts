import { Pool } from 'undici'
import type { SampleCall, Tracker, TrackerSettings } from './tracker.ts'

/** The number of requests that evroute has in flight. */
const connections = 4

/**
 * A minimal way to send calls in batches. It stringifies each call once, with the fields that evroute sends,
 * joins the texts and posts them with undici. It does none of a client's other work: ids come from a counter,
 * the time is read once, nothing is checked, bounded or retried, and only the status of an answer is read.
 */
export function createLimitTracker({ origin, flushAt }: TrackerSettings): Tracker {
  const pool = new Pool(origin, { connections })
  const timestamp = new Date(0).toISOString()
  const context = { library: { name: 'limit', version: '0.0.0' } }
  const headers = {
    authorization: `Basic ${Buffer.from('wk_example:').toString('base64')}`,
    'content-type': 'application/json',
  }
  const inFlight: Promise<void>[] = []
  let calls: string[] = []
  let count = 0

  const post = async (body: string): Promise<void> => {
    const answer = await pool.request({ method: 'POST', path: '/v1/batch', headers, body })
    await answer.body.dump()
    if (answer.statusCode !== 200) throw new Error(`Answered ${answer.statusCode}`)
  }
  const send = (): void => {
    const body = `{"batch":[${calls.join(',')}],"sentAt":"${timestamp}","writeKey":"wk_example"}`
    calls = []
    inFlight.push(post(body))
  }
  return {
    track: ({ userId, event, properties }: SampleCall) => {
      const messageId = `00000000-0000-4000-8000-${String(count++).padStart(12, '0')}`
      const call = { userId, event, properties, type: 'track', messageId, timestamp, context }
      calls.push(JSON.stringify(call))
      if (calls.length === flushAt) send()
    },
    flush: async () => {
      if (calls.length > 0) send()
      await Promise.all(inFlight.splice(0))
    },
  }
}
