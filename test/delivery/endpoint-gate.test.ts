import { describe, expect, test } from 'vitest'
import { defaultBreakerPolicy, defaultRetryPolicy } from '../../src/delivery/index.ts'
import { EndpointGate, type BegunRequest } from '../../src/delivery/endpoint-gate.ts'
import { queuePolicies } from '../../src/delivery/queue-policies.ts'
import type { RequestOutcome } from '../../src/webhook/index.ts'
import { startMs } from '../support/recording-runtime.ts'
import { addressRefused, answered, certificateRefused, destinationOf } from './samples.ts'

const { consecutiveFailures, earlyProbeEveryMs, openMs } = defaultBreakerPolicy

function gateOf(concurrency = 10): EndpointGate {
  return new EndpointGate(
    destinationOf(1).endpoints[0]!,
    queuePolicies(defaultRetryPolicy, { concurrency }, () => 0),
  )
}

/** Makes requests, one after the other, with the same outcome. */
function ask(gate: EndpointGate, outcome: RequestOutcome, count = consecutiveFailures): void {
  for (let attempt = 0; attempt < count; attempt++) {
    gate.end(gate.begin(startMs, 'first'), outcome, startMs)
  }
}

function opened(concurrency = 10): EndpointGate {
  const gate = gateOf(concurrency)
  ask(gate, answered(503))
  return gate
}

describe('a healthy endpoint', () => {
  test.each(['first', 'retry', 'manual'] as const)(
    'gets as many requests as its concurrency (%s)',
    (lane) => {
      const gate = gateOf(2)
      const first = gate.begin(startMs, lane)
      expect(gate.access(startMs, lane)).toBe('ask')
      gate.begin(startMs, lane)
      expect(gate.access(startMs, lane)).toBe('wait')
      gate.end(first, answered(200), startMs)
      expect(gate.access(startMs, lane)).toBe('ask')
      expect(gate.parkedUntilMs(startMs, 'first')).toBeUndefined()
    },
  )

  test('counts all lanes together', () => {
    const gate = gateOf(2)
    gate.begin(startMs, 'manual')
    gate.begin(startMs, 'first')
    expect(gate.access(startMs, 'retry')).toBe('wait')
    expect(gate.access(startMs, 'manual')).toBe('wait')
  })
})

describe('an endpoint whose breaker is open', () => {
  test('gets nothing until its probe is due, and then one probe at a time', () => {
    const gate = opened()
    expect(gate.access(startMs, 'first')).toBe('blocked')
    expect(gate.parkedUntilMs(startMs, 'first')).toBe(startMs + openMs)
    const probeAtMs = startMs + openMs
    expect(gate.parkedUntilMs(probeAtMs, 'first')).toBeUndefined()
    expect(gate.access(probeAtMs, 'first')).toBe('ask')
    const probe = gate.begin(probeAtMs, 'first')
    expect(gate.access(probeAtMs, 'first')).toBe('blocked')
    expect(gate.parkedUntilMs(probeAtMs, 'first')).toBeUndefined()
    expect(gate.end(probe, answered(200), probeAtMs)).toEqual({ kind: 'recovering' })
    expect(gate.access(probeAtMs, 'first')).toBe('ask')
  })

  test('is probed early by one manual retry', () => {
    const gate = opened(2)
    expect(gate.access(startMs, 'manual')).toBe('ask')
    const probe = gate.begin(startMs, 'manual')
    expect(gate.access(startMs, 'manual')).toBe('blocked')
    expect(gate.access(startMs, 'first')).toBe('blocked')
    expect(gate.parkedUntilMs(startMs, 'first')).toBe(startMs + openMs)
    expect(gate.end(probe, answered(200), startMs)).toEqual({ kind: 'recovering' })
    expect(gate.parkedUntilMs(startMs, 'first')).toBeUndefined()
    expect(gate.downSinceMs).toBe(startMs)
    ask(gate, answered(200), 1)
    expect(gate.downSinceMs).toBeUndefined()
  })

  test.each([
    { name: 'fails', outcome: answered(503) },
    { name: 'is inconclusive', outcome: certificateRefused },
  ])('stays blocked as long as before if an early probe $name', ({ outcome }) => {
    const gate = opened()
    expect(gate.end(gate.begin(startMs, 'manual'), outcome, startMs)).toBeUndefined()
    expect(gate.parkedUntilMs(startMs, 'first')).toBe(startMs + openMs)
    expect(gate.parkedUntilMs(startMs, 'manual')).toBe(startMs + earlyProbeEveryMs)
    expect(gate.end(gate.begin(startMs + openMs, 'first'), answered(503), startMs)).toMatchObject({
      openMs: 2 * openMs,
    })
  })

  test('takes a manual retry as the due probe', () => {
    const gate = opened()
    const probeAtMs = startMs + openMs
    const probe = gate.begin(probeAtMs, 'manual')
    expect(gate.access(probeAtMs, 'first')).toBe('blocked')
    expect(gate.end(probe, answered(503), probeAtMs)).toMatchObject({ kind: 'reopened' })
  })

  test('can be probed early at once after the due probe failed', () => {
    const gate = opened()
    gate.end(gate.begin(startMs + openMs, 'first'), answered(503), startMs + openMs)
    expect(gate.access(startMs + openMs, 'manual')).toBe('ask')
  })

  test('is not closed by a manual retry that started before it opened', () => {
    const gate = gateOf()
    const request = gate.begin(startMs, 'manual')
    ask(gate, answered(503))
    expect(gate.end(request, answered(200), startMs)).toBeUndefined()
    expect(gate.parkedUntilMs(startMs, 'first')).toBe(startMs + openMs)
  })

  test('does not delay an early probe further if the clock is set back', () => {
    const gate = opened()
    gate.end(gate.begin(startMs, 'manual'), answered(503), startMs)
    const earlierMs = startMs - 1_000_000
    expect(gate.parkedUntilMs(earlierMs, 'manual')).toBe(earlierMs + earlyProbeEveryMs)
  })
})

describe('what counts as a failure', () => {
  test.each([
    { name: 'a busy answer', outcome: answered(503), opens: true },
    { name: 'no answer', outcome: { kind: 'timeout' }, opens: true },
    {
      name: 'no connection',
      outcome: { kind: 'connection_failed', code: 'ECONNREFUSED', message: 'refused' },
      opens: true,
    },
    { name: 'not a final refusal', outcome: answered(404), opens: false },
    { name: 'not a redirect', outcome: answered(302), opens: false },
    { name: 'not a bad certificate', outcome: certificateRefused, opens: false },
    { name: 'not a refused address', outcome: addressRefused, opens: false },
    { name: 'not an interruption by our side', outcome: { kind: 'interrupted' }, opens: false },
  ] as const)('$name', ({ outcome, opens }) => {
    const gate = gateOf()
    ask(gate, outcome, consecutiveFailures - 1)
    expect(gate.access(startMs, 'first')).toBe('ask')
    ask(gate, outcome, 1)
    expect(gate.access(startMs, 'first')).toBe(opens ? 'blocked' : 'ask')
  })

  test('a bad certificate, a refused address or an interruption does not end a series of failures', () => {
    const gate = gateOf()
    ask(gate, answered(503), consecutiveFailures - 1)
    ask(gate, certificateRefused, 1)
    ask(gate, addressRefused, 1)
    ask(gate, { kind: 'interrupted' }, 1)
    ask(gate, answered(503), 1)
    expect(gate.access(startMs, 'first')).toBe('blocked')
  })

  test('a final refusal ends a series of failures, because the endpoint answers', () => {
    const gate = gateOf()
    // Enough of these to keep the failure rate from opening the breaker.
    ask(gate, answered(404), consecutiveFailures)
    ask(gate, answered(503), consecutiveFailures - 1)
    ask(gate, answered(404), 1)
    ask(gate, answered(503), consecutiveFailures - 1)
    expect(gate.access(startMs, 'first')).toBe('ask')
  })
})

describe('an endpoint with a rate', () => {
  test('is waited for instead of being blocked', () => {
    const gate = gateOf()
    gate.resize(10, 2)
    gate.end(gate.begin(startMs, 'first'), answered(200), startMs)
    expect(gate.access(startMs, 'first')).toBe('wait')
    expect(gate.parkedUntilMs(startMs, 'first')).toBeUndefined()
    expect(gate.access(startMs + 498, 'first')).toBe('wait')
    expect(gate.access(startMs + 500, 'first')).toBe('ask')
  })

  test('is blocked while its breaker is open or after it answered 429', () => {
    const gate = gateOf()
    gate.resize(10, 2)
    gate.end(gate.begin(startMs, 'first'), answered(429), startMs)
    expect(gate.access(startMs, 'first')).toBe('blocked')
    const down = opened()
    down.resize(10, 2)
    expect(down.access(startMs, 'first')).toBe('blocked')
  })
})

test('requests that started before the breaker opened keep their slots until they end', () => {
  const gate = gateOf(2)
  const hanging: BegunRequest = gate.begin(startMs, 'first')
  ask(gate, answered(503))
  gate.resize(1)
  const probeAtMs = startMs + openMs
  expect(gate.access(probeAtMs, 'first')).toBe('blocked')
  expect(gate.end(hanging, answered(200), probeAtMs)).toBeUndefined()
  expect(gate.access(probeAtMs, 'first')).toBe('ask')
})

test('an endpoint is down from the failure that opens its breaker until it is closed', () => {
  const gate = gateOf(2)
  ask(gate, answered(503), consecutiveFailures - 1)
  expect(gate.downSinceMs).toBeUndefined()
  ask(gate, answered(503), 1)
  expect(gate.downSinceMs).toBe(startMs)
  const askAt = (nowMs: number, status: number): void => {
    gate.end(gate.begin(nowMs, 'first'), answered(status), nowMs)
  }
  askAt(startMs + openMs, 503)
  expect(gate.downSinceMs).toBe(startMs)
  askAt(startMs + 3 * openMs, 200)
  expect(gate.downSinceMs).toBe(startMs)
  askAt(startMs + 3 * openMs, 200)
  expect(gate.downSinceMs).toBeUndefined()
})

describe('an endpoint that answers 429', () => {
  test('gets nothing until its Retry-After is over, not even manual retries', () => {
    const gate = gateOf()
    gate.end(gate.begin(startMs, 'first'), answered(429, '7'), startMs)
    const untilMs = startMs + 7_000
    expect(gate.access(untilMs - 1, 'manual')).toBe('blocked')
    expect(gate.parkedUntilMs(startMs, 'manual')).toBe(untilMs)
    expect(gate.parkedUntilMs(untilMs, 'first')).toBeUndefined()
    expect(gate.access(untilMs, 'first')).toBe('ask')
  })

  test('is paused for at most an hour, including jitter', () => {
    const policies = queuePolicies(defaultRetryPolicy, { concurrency: 10 }, () => 1)
    const gate = new EndpointGate(destinationOf(1).endpoints[0]!, policies)
    gate.end(gate.begin(startMs, 'first'), answered(429, '86400'), startMs)
    expect(gate.parkedUntilMs(startMs, 'first')).toBe(startMs + 60 * 60 * 1_000)
  })

  test('never opens its breaker', () => {
    const gate = gateOf()
    let nowMs = startMs
    for (let attempt = 0; attempt < 5 * consecutiveFailures; attempt++) {
      expect(gate.end(gate.begin(nowMs, 'first'), answered(429), nowMs)).toBeUndefined()
      nowMs = gate.parkedUntilMs(nowMs, 'first')!
    }
    expect(gate.access(nowMs, 'first')).toBe('ask')
  })

  test('does not end a series of failures', () => {
    const gate = gateOf()
    ask(gate, answered(503), consecutiveFailures - 1)
    ask(gate, answered(429), 1)
    expect(gate.end(gate.begin(startMs, 'first'), answered(503), startMs)).toMatchObject({
      kind: 'opened',
    })
  })

  test('counts as recovered from an outage', () => {
    const gate = opened()
    const probeAtMs = startMs + openMs
    const change = gate.end(gate.begin(probeAtMs, 'first'), answered(429), probeAtMs)
    expect(change).toEqual({ kind: 'recovering' })
    expect(gate.parkedUntilMs(probeAtMs, 'first')).toBe(probeAtMs + 1_000)
  })

  test('counts as down from its first 429 until it accepts a request', () => {
    const gate = gateOf()
    gate.end(gate.begin(startMs, 'first'), answered(429), startMs)
    gate.end(gate.begin(startMs + 1_000, 'first'), answered(429), startMs + 1_000)
    expect(gate.downSinceMs).toBe(startMs)
    gate.end(gate.begin(startMs + 3_000, 'first'), answered(200), startMs + 3_000)
    expect(gate.downSinceMs).toBeUndefined()
  })
})

describe('a gate whose concurrency changes', () => {
  test('admits nothing until fewer requests are in flight than it allows now', () => {
    const gate = gateOf(3)
    const requests = [1, 2, 3].map(() => gate.begin(startMs, 'first'))
    gate.resize(2)
    gate.end(requests[0]!, answered(200), startMs)
    expect(gate.access(startMs, 'first')).toBe('wait')
    expect(gate.access(startMs, 'manual')).toBe('wait')
    gate.end(requests[1]!, answered(200), startMs)
    expect(gate.access(startMs, 'first')).toBe('ask')
    gate.resize(1)
    expect(gate.access(startMs, 'first')).toBe('wait')
  })

  test('admits nothing at a concurrency of 0, not even a probe', () => {
    const gate = opened()
    gate.resize(0)
    expect(gate.access(startMs + openMs, 'first')).not.toBe('ask')
    expect(gate.access(startMs + openMs, 'manual')).not.toBe('ask')
    gate.resize(1)
    expect(gate.access(startMs + openMs, 'first')).toBe('ask')
  })

  test('continues to recover step by step', () => {
    const gate = opened(2)
    gate.resize(10)
    const probeAtMs = startMs + openMs
    const probe = gate.begin(probeAtMs, 'first')
    expect(gate.end(probe, answered(200), probeAtMs)).toEqual({ kind: 'recovering' })
    ask(gate, answered(200), 1)
    gate.begin(probeAtMs, 'first')
    expect(gate.access(probeAtMs, 'first')).toBe('ask')
    gate.begin(probeAtMs, 'first')
    expect(gate.access(probeAtMs, 'first')).toBe('blocked')
    gate.resize(4)
    expect(gate.access(probeAtMs, 'first')).toBe('blocked')
    expect(gate.downSinceMs).toBe(startMs)
  })

  test('closes its breaker with the next success if the concurrency is low enough by then', () => {
    const gate = opened(10)
    const probeAtMs = startMs + openMs
    gate.end(gate.begin(probeAtMs, 'first'), answered(200), probeAtMs)
    gate.resize(2)
    const request = gate.begin(probeAtMs, 'first')
    expect(gate.end(request, answered(200), probeAtMs)).toEqual({ kind: 'closed' })
  })

  test('does not close its breaker on a success while the concurrency is 0', () => {
    const gate = opened(10)
    const probeAtMs = startMs + openMs
    const probe = gate.begin(probeAtMs, 'first')
    gate.resize(0)
    expect(gate.end(probe, answered(200), probeAtMs)).toEqual({ kind: 'recovering' })
    gate.resize(5)
    gate.begin(probeAtMs, 'first')
    expect(gate.access(probeAtMs, 'first')).toBe('blocked')
  })
})
