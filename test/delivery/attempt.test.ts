import { setImmediate as nextTurn } from 'node:timers/promises'
import { hiddenEndpoint } from '../../src/model/index.ts'
import { describe, expect, test } from 'vitest'
import {
  attempt,
  defaultRetryPolicy,
  type LeasedDelivery,
  type DeliverySender,
  type Settlement,
} from '../../src/delivery/index.ts'
import type { Endpoint, RequestRecord } from '../../src/model/index.ts'
import { EndpointGate } from '../../src/delivery/endpoint-gate.ts'
import { queuePolicies } from '../../src/delivery/queue-policies.ts'
import { ManualClock, VirtualClock, type Clock } from '../../src/runtime/index.ts'
import type { RequestOutcome } from '../../src/webhook/index.ts'
import { gate } from '../support/gate.ts'
import { recordingRuntime, startMs, type RecordingRuntime } from '../support/recording-runtime.ts'
import { quiet } from './dispatching.ts'
import {
  addressRefused,
  answered,
  certificateRefused,
  destinationOf,
  leased,
  urlOf,
  urlsOf,
} from './samples.ts'

/** The outcome if no local port is left for connections to an endpoint. */
const shortOfPorts: RequestOutcome = {
  kind: 'shortage',
  code: 'EADDRNOTAVAIL',
  message: 'connect EADDRNOTAVAIL 127.0.0.1:80',
}

type PostDelivery = DeliverySender['post']

/** Makes gates that admit every request. */
function gatesTo(endpoints: readonly Endpoint[]): readonly EndpointGate[] {
  const policies = queuePolicies(defaultRetryPolicy, { concurrency: 10 }, () => 0)
  return endpoints.map((endpoint) => new EndpointGate(endpoint, policies))
}

/** Starts a round over a number of endpoints. */
function start(
  endpoints: number,
  post: PostDelivery,
  {
    delivery = leased(),
    clock = new ManualClock(startMs),
  }: { delivery?: LeasedDelivery; clock?: Clock } = {},
) {
  const recording = recordingRuntime(clock)
  const logged: RequestRecord[] = []
  const destination = destinationOf(endpoints)
  const settlements: Settlement[] = []
  let ended: Promise<unknown> | undefined
  const settlement = new Promise<Settlement>((resolve) => {
    ended = attempt(delivery, {
      runtime: recording.runtime,
      destination,
      gates: gatesTo(destination.endpoints),
      post: ({ endpoint }) => post(endpoint, delivery),
      policy: defaultRetryPolicy,
      ended: (record) => logged.push(record),
      settled: (each) => {
        settlements.push(each)
        resolve(each)
      },
    })
  })
  return { settlement, settlements, ended, logged, recording }
}

interface Round {
  readonly settlement: Settlement
  readonly logged: readonly RequestRecord[]
  readonly recording: RecordingRuntime
}

/** Makes a round over the endpoints `a`, `b` and so on, with these outcomes. */
async function round(
  outcomes: readonly RequestOutcome[],
  delivery: LeasedDelivery = leased(),
): Promise<Round> {
  const urls = urlsOf(outcomes.length)
  const post: PostDelivery = (endpoint, { body, messageId }) => {
    expect({ body, messageId }).toEqual({ body: delivery.body, messageId: delivery.messageId })
    return Promise.resolve(outcomes[urls.indexOf(endpoint.url)]!)
  }
  const { settlement, ended, logged, recording } = start(outcomes.length, post, { delivery })
  await ended
  return { settlement: await settlement, logged, recording }
}

describe('a round', () => {
  test('sends to all endpoints at once', async () => {
    const { opened, open } = gate()
    const requested: string[] = []
    const { ended } = start(3, async (endpoint) => {
      requested.push(endpoint.url)
      await opened
      return answered(200)
    })
    expect(requested).toEqual(urlsOf(3))
    open()
    await ended
  })

  test('sends only to the endpoints of the given gates', async () => {
    const requested: string[] = []
    const destination = destinationOf(3)
    const settlements: Settlement[] = []
    await attempt(leased(), {
      runtime: recordingRuntime(new ManualClock(startMs)).runtime,
      destination,
      gates: gatesTo(destination.endpoints.slice(1, 2)),
      post: ({ endpoint }) => {
        requested.push(endpoint.url)
        return Promise.resolve(answered(404))
      },
      policy: defaultRetryPolicy,
      ended: () => undefined,
      settled: (settlement) => settlements.push(settlement),
    })
    // The other endpoints may still accept it.
    expect(settlements).toMatchObject([
      { kind: 'retry', progress: { holds: [{ url: urlOf('b'), untilMs: null }] } },
    ])
    expect(requested).toEqual([urlOf('b')])
  })

  test.each([
    { name: 'the only endpoint', outcomes: [answered(204)] },
    { name: 'one of two, the other busy', outcomes: [answered(503), answered(200)] },
    { name: 'one of two, the other wrong', outcomes: [answered(200), answered(404)] },
    { name: 'one of two, the other silent', outcomes: [{ kind: 'timeout' }, answered(200)] },
    { name: 'one of two, the other cut off', outcomes: [{ kind: 'interrupted' }, answered(200)] },
  ] as const)('delivers when it succeeds at $name', async ({ outcomes }) => {
    const { settlement, logged, recording } = await round(outcomes)
    const success = recording.requests.find(({ outcome }) => outcome === 'success')!
    const { url, atMs, durationMs, status, excerpt } = success
    const firstTry = { url, atMs, durationMs, status, excerpt }
    expect(settlement).toEqual({ kind: 'delivered', delivery: leased(), attempts: 1, firstTry })
    expect(logged).toEqual(recording.requests.filter((request) => request !== success))
    expect(recording.requests).toHaveLength(outcomes.length)
  })

  test.each([
    { name: 'a second attempt', progress: { attempts: 1, windowAttempts: 1 } },
    { name: 'a retry', progress: { lane: 'retry' } },
    { name: 'a manual retry', progress: { lane: 'manual' } },
  ] as const)('logs its success if it is $name', async ({ progress }) => {
    const delivery = leased(progress)
    const { settlement, logged } = await round([answered(200)], delivery)
    const attempts = delivery.attempts + 1
    expect(settlement).toEqual({ kind: 'delivered', delivery, attempts })
    expect(logged).toMatchObject([{ attempt: attempts, outcome: 'success' }])
  })

  test('is settled by its first success; a hanging request is logged when it ends', async () => {
    const { opened, open } = gate()
    const { settlement, ended, logged } = start(3, async ({ url }) => {
      if (url === urlOf('a')) await opened
      return answered(url === urlOf('c') ? 200 : 503)
    })
    expect(await settlement).toMatchObject({ kind: 'delivered', firstTry: { url: urlOf('c') } })
    expect(logged.map(({ url }) => url)).toEqual([urlOf('b')])
    let hasEnded = false
    void ended?.then(() => {
      hasEnded = true
    })
    await quiet()
    expect(hasEnded).toBe(false)
    open()
    await ended
    expect(logged.map(({ url, outcome }) => [url, outcome])).toEqual([
      [urlOf('b'), 'retry'],
      [urlOf('a'), 'retry'],
    ])
  })

  test('is settled once, even if two endpoints succeed', async () => {
    const { settlements, ended, logged } = start(3, ({ url }) =>
      Promise.resolve(answered(url === urlOf('b') ? 503 : 200)),
    )
    await ended
    expect(settlements).toMatchObject([
      { kind: 'delivered', delivery: leased(), attempts: 1, firstTry: { url: urlOf('a') } },
    ])
    expect(logged.map(({ url }) => url)).toEqual([urlOf('b'), urlOf('c')])
  })

  test('waits for the last answer if none succeeds', async () => {
    const { opened, open } = gate()
    const { settlement } = start(2, async ({ url }) => {
      if (url === urlOf('a')) await opened
      return answered(503)
    })
    let settled = false
    void settlement.then(() => {
      settled = true
    })
    await quiet()
    expect(settled).toBe(false)
    open()
    expect(await settlement).toMatchObject({ kind: 'retry', dueAtMs: startMs + 10_000 })
  })

  test('fails for good if every endpoint fails for good, and names each cause once', async () => {
    const outcomes = [answered(404), certificateRefused, answered(404), answered(302)]
    const { settlement } = await round(outcomes)
    expect(settlement).toEqual({
      kind: 'failed',
      delivery: leased(),
      attempts: 1,
      reason: 'status_404, CERT_HAS_EXPIRED, status_302',
    })
  })

  test('returns the delivery if our side interrupted it', async () => {
    const { settlement } = await round([shortOfPorts, { kind: 'interrupted' }])
    expect(settlement).toEqual({ kind: 'returned', delivery: leased(), dueAtMs: startMs })
  })

  test('keeps the answer of an endpoint if our side interrupted the request to the other', async () => {
    const { settlement } = await round([shortOfPorts, answered(404)])
    expect(settlement).toMatchObject({
      kind: 'retry',
      dueAtMs: startMs,
      progress: { attempts: 1, windowAttempts: 0, holds: [{ url: urlOf('b'), untilMs: null }] },
      reason: 'status_404',
    })
  })

  test('starts the delay at its end, and the retry window at its start', async () => {
    const clock = new ManualClock(startMs)
    const post: PostDelivery = async () => {
      await clock.advance(4_000)
      return { kind: 'timeout' }
    }
    const { settlement, logged } = start(1, post, { clock })
    expect(await settlement).toMatchObject({
      dueAtMs: startMs + 14_000,
      progress: { firstAttemptAtMs: startMs },
    })
    expect(logged).toMatchObject([{ atMs: startMs }])
  })
})

test.each([
  { name: 'seconds', outcomes: [answered(429, '120')], waitMs: 120_000 },
  { name: 'a date', outcomes: [answered(503, 'Fri, 02 Jan 2026 03:05:05 GMT')], waitMs: 59_322 },
  { name: 'less than the schedule', outcomes: [answered(503, '3')], waitMs: 10_000 },
  { name: 'less than the schedule, with a 429', outcomes: [answered(429, '3')], waitMs: 3_000 },
  { name: 'nothing readable', outcomes: [answered(503, 'soon')], waitMs: 10_000 },
  {
    name: 'nothing, if another endpoint follows the schedule',
    outcomes: [answered(429, '60'), { kind: 'timeout' }],
    waitMs: 10_000,
  },
] as const)('Retry-After is read from an answer: $name', async ({ outcomes, waitMs }) => {
  const { settlement } = await round(outcomes)
  expect(settlement).toMatchObject({ kind: 'retry', dueAtMs: startMs + waitMs })
})

describe('a request', () => {
  test('is reported to the observer and logged, whatever its outcome', async () => {
    const excerpt = 'Come back later'
    const outcomes = [
      { kind: 'answered', status: 503, retryAfter: undefined, excerpt },
      { kind: 'timeout' },
      certificateRefused,
      answered(200),
    ] as const
    const delivery = leased({ attempts: 2, lane: 'retry' })
    const { recording, logged } = await round(outcomes, delivery)
    const common = {
      destinationId: 'crm',
      deliveryId: 1,
      messageId: 'm_1',
      lane: 'retry',
      attempt: 3,
      atMs: startMs,
      durationMs: expect.any(Number) as number,
      excerpt: '',
    }
    const busy = { outcome: 'retry', status: 503, error: 'status_503', excerpt }
    const refused = { outcome: 'final', status: null, error: 'CERT_HAS_EXPIRED' }
    expect(logged).toEqual([
      { ...common, url: urlOf('a'), ...busy },
      { ...common, url: urlOf('b'), outcome: 'retry', status: null, error: 'timeout' },
      { ...common, url: urlOf('c'), ...refused },
      { ...common, url: urlOf('d'), outcome: 'success', status: 200, error: null },
    ])
    for (const { durationMs } of logged) expect(durationMs).toSatisfy(Number.isInteger)
    expect(recording.requests).toEqual(logged)
  })

  test('logs a warning only if it times out, with its code, endpoint and messageId', async () => {
    const { recording } = await round([
      answered(200),
      { kind: 'timeout' },
      answered(503),
      certificateRefused,
    ])
    expect(recording.warnings).toEqual([
      {
        message: 'webhook timed out',
        code: 'timeout',
        messageId: 'm_1',
        url: hiddenEndpoint(urlOf('b')),
      },
    ])
  })

  test('to a refused address fails with the rule that refuses it', async () => {
    const { settlement } = await round([addressRefused])
    expect(settlement).toMatchObject({ kind: 'failed', reason: 'private_address' })
  })

  test('is logged without secrets of its URL, and recorded with them', async () => {
    const url = 'https://example.com/a?token=no-secret'
    const { runtime, warnings, requests } = recordingRuntime(new ManualClock(startMs))
    await attempt(leased(), {
      runtime,
      destination: destinationOf(1),
      gates: gatesTo([{ url, headers: {} }]),
      post: () => Promise.resolve({ kind: 'timeout' }),
      policy: defaultRetryPolicy,
      ended: () => undefined,
      settled: () => undefined,
    })
    expect(warnings).toMatchObject([{ url: hiddenEndpoint(url) }])
    expect(requests).toMatchObject([{ url }])
  })

  test('holds the clock until it ends', async () => {
    const clock = new VirtualClock(startMs)
    const rung = new Promise<number>((resolve) =>
      clock.schedule(10_000, () => resolve(clock.nowMs())),
    )
    const post: PostDelivery = async () => {
      for (let turn = 0; turn < 10; turn++) await nextTurn()
      return answered(503)
    }
    const { settlement } = start(1, post, { clock })
    expect(await settlement).toMatchObject({ dueAtMs: startMs + 10_000 })
    expect(await rung).toBe(startMs + 10_000)
  })
})
