import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import {
  attempt,
  defaultRetryPolicy,
  type LeasedDelivery,
  type PostWebhook,
  type Settlement,
} from '../../src/delivery/index.ts'
import { ManualClock, VirtualClock, type Clock } from '../../src/runtime/index.ts'
import { checkDestination, type RequestOutcome } from '../../src/webhook/index.ts'
import { gate } from '../support/gate.ts'
import { recordingRuntime, startMs, type RecordingRuntime } from '../support/recording-runtime.ts'

const hourMs = 60 * 60 * 1_000

/** URLs of endpoints, by their letter. */
const url = (letter: string): string => `https://example.com/${letter}`

function leased(changes: Partial<LeasedDelivery> = {}): LeasedDelivery {
  return {
    id: 1,
    destinationId: 'crm',
    messageId: 'm_1',
    type: 'track',
    body: '{"type":"track"}',
    attempts: 0,
    firstAttemptAtMs: null,
    refusedUrls: [],
    ...changes,
  }
}

function answered(status: number, retryAfter?: string): RequestOutcome {
  return { kind: 'answered', status, retryAfter, excerpt: '' }
}

const refused: RequestOutcome = {
  kind: 'certificate_refused',
  code: 'CERT_HAS_EXPIRED',
  message: 'certificate has expired',
}

interface Round {
  readonly settlement: Settlement
  readonly asked: readonly string[]
  readonly told: RecordingRuntime
}

/** Makes a round over endpoints `a`, `b`, ... that end as given. */
async function round(
  outcomes: readonly RequestOutcome[],
  delivery = leased(),
  clock: Clock = new ManualClock(startMs),
): Promise<Round> {
  const asked: string[] = []
  const urls = outcomes.map((_, index) => url(String.fromCharCode(97 + index)))
  const told = recordingRuntime(clock)
  const settlement = await attempt(delivery, {
    ...told,
    destination: checkDestination({
      id: 'crm',
      sourceIds: ['website'],
      endpoints: urls.map((one) => ({ url: one })),
    }),
    post: (endpoint, body) => {
      expect(body).toBe(delivery.body)
      asked.push(endpoint.url)
      return Promise.resolve(outcomes[urls.indexOf(endpoint.url)]!)
    },
    policy: defaultRetryPolicy,
  })
  return { settlement, asked, told }
}

describe('a round', () => {
  test('asks all endpoints at once', async () => {
    const { opened, open } = gate()
    const asked: string[] = []
    const post: PostWebhook = async (endpoint) => {
      asked.push(endpoint.url)
      if (asked.length === 3) open()
      await opened
      return answered(200)
    }
    const endpoints = ['a', 'b', 'c'].map((letter) => ({ url: url(letter) }))
    const { runtime } = recordingRuntime(new ManualClock(startMs))
    const destination = checkDestination({ id: 'crm', sourceIds: ['website'], endpoints })
    await attempt(leased(), { runtime, destination, post, policy: defaultRetryPolicy })
    expect(asked).toEqual([url('a'), url('b'), url('c')])
  })

  test.each([
    { name: 'the only endpoint', outcomes: [answered(204)] },
    { name: 'one of two, the other busy', outcomes: [answered(503), answered(200)] },
    { name: 'one of two, the other wrong', outcomes: [answered(200), answered(404)] },
    { name: 'one of two, the other silent', outcomes: [{ kind: 'timeout' }, answered(200)] },
    { name: 'one of two, the other cut off', outcomes: [{ kind: 'interrupted' }, answered(200)] },
  ] as const)('delivers when it succeeds at $name', async ({ outcomes }) => {
    const { settlement, told } = await round(outcomes)
    expect(settlement).toEqual({
      kind: 'delivered',
      delivery: leased(),
      requests: told.requests,
    })
    expect(told.requests).toHaveLength(outcomes.length)
  })

  test('leaves out the endpoints that failed for good', async () => {
    const delivery = leased({ refusedUrls: [url('b'), url('d')] })
    const outcomes = [answered(503), answered(200), answered(503), answered(200)]
    const { settlement, asked } = await round(outcomes, delivery)
    expect(asked).toEqual([url('a'), url('c')])
    expect(settlement).toMatchObject({ kind: 'retry', refusedUrls: delivery.refusedUrls })
  })

  test('with no endpoint left is a failure, and no request is made', async () => {
    const delivery = leased({ attempts: 1, refusedUrls: [url('a')] })
    const { settlement, asked } = await round([answered(200)], delivery)
    expect(asked).toEqual([])
    expect(settlement).toMatchObject({ kind: 'failed', reason: 'no_endpoint_left', requests: [] })
  })
})

describe('a round without success', () => {
  test('fails for good when every endpoint did, and names each cause once', async () => {
    const outcomes = [answered(404), refused, answered(404), answered(302)]
    const { settlement, told } = await round(outcomes)
    expect(settlement).toEqual({
      kind: 'failed',
      delivery: leased(),
      reason: 'status_404, CERT_HAS_EXPIRED, status_302',
      requests: told.requests,
    })
  })

  test('is tried again by the schedule as long as one endpoint may succeed', async () => {
    const { settlement, told } = await round([answered(404), answered(500), refused])
    expect(settlement).toEqual({
      kind: 'retry',
      delivery: leased(),
      dueAtMs: startMs + 10_000,
      firstAttemptAtMs: startMs,
      refusedUrls: [url('a'), url('c')],
      requests: told.requests,
    })
  })

  test('adds to the endpoints that failed for good before', async () => {
    const delivery = leased({ refusedUrls: [url('a')], attempts: 1, firstAttemptAtMs: startMs - 7 })
    const { settlement } = await round([answered(200), answered(410), answered(503)], delivery)
    expect(settlement).toMatchObject({
      kind: 'retry',
      dueAtMs: startMs + 25_000,
      firstAttemptAtMs: startMs - 7,
      refusedUrls: [url('a'), url('b')],
    })
  })

  test.each([
    { name: 'seconds', outcomes: [answered(429, '120')], waitMs: 120_000 },
    { name: 'a date', outcomes: [answered(503, 'Fri, 02 Jan 2026 03:05:05 GMT')], waitMs: 59_322 },
    { name: 'less than the schedule', outcomes: [answered(429, '3')], waitMs: 10_000 },
    { name: 'nothing readable', outcomes: [answered(429, 'soon')], waitMs: 10_000 },
    {
      name: 'the shortest of several, where all asked for it',
      outcomes: [answered(429, '60'), answered(503, '90')],
      waitMs: 60_000,
    },
    {
      name: 'nothing, where one of several goes by the schedule',
      outcomes: [answered(429, '60'), { kind: 'timeout' }],
      waitMs: 10_000,
    },
    {
      name: 'nothing beyond the window, where another endpoint is ready before',
      outcomes: [answered(503, '86400'), answered(503, '90')],
      waitMs: 90_000,
    },
    {
      name: 'nothing, where only an endpoint that failed for good asked for it',
      outcomes: [answered(404, '600'), answered(503)],
      waitMs: 10_000,
    },
  ] as const)('waits for what Retry-After says: $name', async ({ outcomes, waitMs }) => {
    const { settlement } = await round(outcomes)
    expect(settlement).toMatchObject({ kind: 'retry', dueAtMs: startMs + waitMs })
  })

  test('expires at once when the next round would be after the window', async () => {
    const delivery = leased({ attempts: 9, firstAttemptAtMs: startMs - 3 * hourMs - 1 })
    const outcomes = [answered(503), { kind: 'timeout' }, answered(404)] as const
    const { settlement, told } = await round(outcomes, delivery)
    expect(settlement).toEqual({
      kind: 'expired',
      delivery,
      reason: 'status_503, timeout, status_404',
      requests: told.requests,
    })
  })

  test('expires when no endpoint wants to be asked again in the window', async () => {
    const { settlement } = await round([answered(503, '86400'), answered(429, '90000')])
    expect(settlement).toMatchObject({ kind: 'expired', reason: 'status_503, status_429' })
  })

  test('waits from its end, and counts the window from its beginning', async () => {
    const clock = new ManualClock(startMs)
    const { runtime } = recordingRuntime(clock)
    const settlement = await attempt(leased(), {
      runtime,
      destination: checkDestination({
        id: 'crm',
        sourceIds: ['website'],
        endpoints: [{ url: url('a') }],
      }),
      post: async () => {
        await clock.advance(4_000)
        return { kind: 'timeout' }
      },
      policy: defaultRetryPolicy,
    })
    expect(settlement).toMatchObject({
      dueAtMs: startMs + 14_000,
      firstAttemptAtMs: startMs,
      requests: [{ atMs: startMs }],
    })
  })

  test('that was cut off by our own side is given back, even after the window', async () => {
    const delivery = leased({ attempts: 9, firstAttemptAtMs: startMs - 4 * hourMs })
    const outcomes = [answered(503), { kind: 'interrupted' }] as const
    const { settlement } = await round(outcomes, delivery)
    expect(settlement).toEqual({ kind: 'returned', delivery })
  })
})

describe('a request', () => {
  test('is told to the observer, whatever becomes of it', async () => {
    const outcomes = [answered(200), answered(503), { kind: 'timeout' }, refused] as const
    const { told } = await round(outcomes, leased({ attempts: 2 }))
    const common = {
      messageId: 'm_1',
      attempt: 3,
      atMs: startMs,
      durationMs: expect.any(Number) as number,
    }
    expect(told.requests).toEqual([
      { ...common, url: url('a'), outcome: 'success', status: 200, error: null },
      { ...common, url: url('b'), outcome: 'retry', status: 503, error: 'status_503' },
      { ...common, url: url('c'), outcome: 'retry', status: null, error: 'timeout' },
      { ...common, url: url('d'), outcome: 'final', status: null, error: 'CERT_HAS_EXPIRED' },
    ])
    for (const { durationMs } of told.requests) expect(durationMs).toSatisfy(Number.isInteger)
  })

  test('that times out is logged with code, endpoint and messageId, and no other is', async () => {
    const { told } = await round([answered(200), { kind: 'timeout' }, answered(503), refused])
    expect(told.warnings).toEqual([
      { message: 'webhook timed out', code: 'timeout', messageId: 'm_1', url: url('b') },
    ])
  })

  test('holds the clock until it ends', async () => {
    const clock = new VirtualClock(startMs)
    const rung = new Promise<number>((resolve) =>
      clock.schedule(10_000, () => resolve(clock.nowMs())),
    )
    const { runtime } = recordingRuntime(clock)
    const settlement = await attempt(leased(), {
      runtime,
      destination: checkDestination({
        id: 'crm',
        sourceIds: ['website'],
        endpoints: [{ url: url('a') }],
      }),
      post: async () => {
        for (let turn = 0; turn < 10; turn++) await nextTurn()
        return answered(503)
      },
      policy: defaultRetryPolicy,
    })
    expect(settlement).toMatchObject({ dueAtMs: startMs + 10_000 })
    expect(await rung).toBe(startMs + 10_000)
  })
})
