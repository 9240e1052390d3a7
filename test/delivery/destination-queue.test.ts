import { describe, expect, test } from 'vitest'
import {
  defaultBreakerPolicy,
  defaultRetryPolicy,
  type LeasedDelivery,
} from '../../src/delivery/index.ts'
import { DestinationQueue, type Start } from '../../src/delivery/destination-queue.ts'
import { Prefetch } from '../../src/delivery/prefetch.ts'
import { queuePolicies } from '../../src/delivery/queue-policies.ts'
import type { Lane } from '../../src/model/index.ts'
import { startMs } from '../support/recording-runtime.ts'
import { answered, destinationOf, leased, urlOf } from './samples.ts'

const { consecutiveFailures, earlyProbeEveryMs, openMs } = defaultBreakerPolicy
const hourMs = 60 * 60 * 1_000
const retryWindowMs = 4 * hourMs

type RoundStart = Start & { readonly kind: 'round' }

function queueOf(concurrency = 10, endpoints = 1): DestinationQueue {
  const policies = queuePolicies(defaultRetryPolicy, { concurrency }, () => 0)
  const destination = destinationOf(endpoints, concurrency)
  return new DestinationQueue(destination, policies, new Prefetch(Infinity))
}

/** Adds deliveries to a lane. */
function fill(queue: DestinationQueue, lane: Lane, count = 1): readonly LeasedDelivery[] {
  const deliveries = Array.from({ length: count }, (_, index) => leased({ id: index + 1, lane }))
  queue.take(lane, deliveries, 0)
  return deliveries
}

/** Starts a round and its requests. `end` ends both. */
function begin(queue: DestinationQueue, nowMs = startMs) {
  const start = queue.next(nowMs) as RoundStart
  expect(start).toMatchObject({ kind: 'round' })
  const requests = start.gates.map((gate) => ({
    gate,
    request: gate.begin(nowMs, start.delivery.lane),
  }))
  return {
    delivery: start.delivery,
    urls: start.gates.map(({ endpoint }) => endpoint.url),
    end: (...statuses: readonly number[]): void => {
      requests.forEach(({ gate, request }, index) =>
        gate.end(request, answered(statuses[index] ?? 200), nowMs),
      )
      queue.end(start.delivery)
    },
  }
}

/** Makes rounds one after the other, and returns their lanes. */
function lanesInTurn(queue: DestinationQueue, rounds: number): readonly Lane[] {
  return Array.from({ length: rounds }, () => {
    const { delivery, end } = begin(queue)
    end()
    return delivery.lane
  })
}

/** Starts as many rounds as possible at once, and counts them by lane. */
function lanesAtOnce(queue: DestinationQueue): Partial<Record<Lane, number>> {
  const counts: Partial<Record<Lane, number>> = {}
  for (let start = queue.next(startMs); start !== undefined; start = queue.next(startMs)) {
    const { gates, delivery } = start as RoundStart
    for (const gate of gates) gate.begin(startMs, delivery.lane)
    counts[delivery.lane] = (counts[delivery.lane] ?? 0) + 1
  }
  return counts
}

/** Opens the breaker of an endpoint, by its index. */
function open(queue: DestinationQueue, endpoint = 0): void {
  for (let attempt = 0; attempt < consecutiveFailures; attempt++) {
    fill(queue, 'first')
    const { end } = begin(queue)
    const statuses = queue.destination.endpoints.map((_, index) => (index === endpoint ? 503 : 404))
    end(...statuses)
  }
}

describe('the order of lanes', () => {
  test.each(
    ([1, 2, 5, 10] as const).flatMap((concurrency) => [
      { concurrency, before: 'first', after: 'manual' } as const,
      { concurrency, before: 'first', after: 'retry' } as const,
      { concurrency, before: 'manual', after: 'retry' } as const,
    ]),
  )(
    'takes $before before $after, except every fifth time (concurrency $concurrency)',
    ({ concurrency, before, after }) => {
      const queue = queueOf(concurrency)
      fill(queue, after, 20)
      fill(queue, before, 20)
      const turn = [before, before, before, before, after]
      expect(lanesInTurn(queue, 15)).toEqual([...turn, ...turn, ...turn])
    },
  )

  test('starves none of the three', () => {
    const queue = queueOf(1)
    for (const lane of ['manual', 'first', 'retry'] as const) fill(queue, lane, 20)
    const lanes = lanesInTurn(queue, 18)
    expect(lanes.filter((lane) => lane === 'first')).toHaveLength(12)
    expect(lanes.filter((lane) => lane === 'manual')).toHaveLength(3)
    expect(lanes.filter((lane) => lane === 'retry')).toHaveLength(3)
  })

  test('counts no turns for a lane without deliveries', () => {
    const queue = queueOf(1)
    fill(queue, 'first', 20)
    lanesInTurn(queue, 15)
    fill(queue, 'retry', 5)
    expect(lanesInTurn(queue, 5)).toEqual(['first', 'first', 'first', 'first', 'retry'])
  })

  test.each([
    { concurrency: 1, retries: 1 },
    { concurrency: 2, retries: 1 },
    { concurrency: 5, retries: 3 },
    { concurrency: 10, retries: 8 },
  ])('keeps slots for first tries: $retries retries of $concurrency', (expected) => {
    const { concurrency, retries } = expected
    for (const lane of ['manual', 'retry'] as const) {
      const queue = queueOf(concurrency)
      fill(queue, lane, 30)
      expect(lanesAtOnce(queue)).toEqual({ [lane]: retries })
      fill(queue, 'first', 30)
      const first = concurrency - retries
      expect(lanesAtOnce(queue)).toEqual(first > 0 ? { first } : {})
    }
  })

  test.each([1, 2, 5, 10])('gives first tries all %i slots if nothing else waits', (all) => {
    const queue = queueOf(all)
    fill(queue, 'first', 30)
    expect(lanesAtOnce(queue)).toEqual({ first: all })
  })

  test('frees a slot when its round is settled', () => {
    const queue = queueOf(2)
    fill(queue, 'retry', 3)
    const { end } = begin(queue)
    expect(queue.next(startMs)).toBeUndefined()
    expect(queue.isEmpty).toBe(false)
    end()
    expect(begin(queue).delivery.lane).toBe('retry')
  })

  test('starts deliveries of one lane in the order of their arrival', () => {
    const queue = queueOf()
    fill(queue, 'first', 3)
    const ids = [begin(queue), begin(queue), begin(queue)].map(({ delivery }) => delivery.id)
    expect(ids).toEqual([1, 2, 3])
  })
})

describe('room', () => {
  test.each(['manual', 'first', 'retry'] as const)('is twice the concurrency (%s)', (lane) => {
    const queue = queueOf(3)
    expect(queue.room(lane, startMs)).toBe(6)
    fill(queue, lane, 3)
    expect(queue.room(lane, startMs)).toBe(3)
    fill(queue, lane, 1)
    expect(queue.room(lane, startMs)).toBe(0)
  })

  test('is reserved for expected deliveries until they arrive', () => {
    const queue = queueOf(3)
    queue.reserve('first', 2)
    expect(queue.room('first', startMs)).toBe(4)
    expect(queue.room('retry', startMs)).toBe(6)
    expect(queue.isEmpty).toBe(false)
    queue.reserve('first', 2)
    expect(queue.room('first', startMs)).toBe(0)
    queue.take('first', [], 4)
    expect(queue.room('first', startMs)).toBe(6)
    expect(queue.isEmpty).toBe(true)
  })
})

describe('deliveries that have not started', () => {
  test('are all returned', () => {
    const queue = queueOf()
    const retries = fill(queue, 'retry', 2)
    const first = fill(queue, 'first', 2)
    const manual = fill(queue, 'manual', 2)
    expect(queue.giveBack()).toEqual([...first, ...manual, ...retries])
    expect(queue.isEmpty).toBe(true)
  })

  test('are returned while they are parked, except one manual retry that probes', () => {
    const queue = queueOf()
    open(queue)
    const retries = fill(queue, 'retry', 2)
    const first = fill(queue, 'first', 2)
    const [probing, ...others] = fill(queue, 'manual', 3)
    expect(queue.giveBackIdle(startMs)).toEqual([...first, ...others, ...retries])
    expect(queue.giveBackIdle(startMs)).toEqual([])
    expect(queue.giveBack()).toEqual([probing])
  })

  test('are returned if they are too many for a reduced concurrency', () => {
    const queue = queueOf(10)
    const deliveries = fill(queue, 'first', 20)
    expect(queue.giveBackIdle(startMs)).toEqual([])
    queue.configure(
      queue.destination,
      queuePolicies(defaultRetryPolicy, { concurrency: 3 }, () => 0),
    )
    expect(queue.giveBackIdle(startMs)).toEqual(deliveries.slice(6))
    expect(lanesAtOnce(queue)).toEqual({ first: 3 })
  })
})

describe('a destination whose endpoints are all blocked', () => {
  test('is parked until the first probe is due, and starts nothing', () => {
    const queue = queueOf(10, 2)
    open(queue, 0)
    expect(queue.parkedUntilMs(startMs, 'first')).toBeUndefined()
    // From now on only the second endpoint gets requests.
    for (let attempt = 0; attempt < consecutiveFailures; attempt++) {
      fill(queue, 'first')
      const { end, urls } = begin(queue, startMs + 1)
      expect(urls).toEqual([urlOf('b')])
      end(503)
    }
    for (const lane of ['first', 'retry'] as const) fill(queue, lane)
    expect(queue.parkedUntilMs(startMs + 1, 'first')).toBe(startMs + openMs)
    expect(queue.next(startMs + 1)).toBeUndefined()
    const dueMs = startMs + openMs
    expect(queue.parkedUntilMs(dueMs, 'first')).toBeUndefined()
    expect([queue.room('first', dueMs), queue.roomAhead(dueMs)]).toEqual([0, 1])
    expect(begin(queue, dueMs).urls).toEqual([urlOf('a')])
    // During the probe nothing else starts, and nothing has to be returned.
    expect([queue.next(dueMs), queue.parkedUntilMs(dueMs, 'first')]).toEqual([undefined, undefined])
  })

  test('is probed by a manual retry at once, and by the next one 10 s later', () => {
    const queue = queueOf()
    open(queue)
    expect(queue.room('manual', startMs)).toBe(1)
    fill(queue, 'first', 5)
    fill(queue, 'manual', 5)
    const probe = begin(queue)
    expect(probe.delivery.lane).toBe('manual')
    expect(queue.next(startMs)).toBeUndefined()
    probe.end(503)
    expect(queue.next(startMs)).toBeUndefined()
    expect(queue.room('manual', startMs)).toBe(0)
    expect(queue.parkedUntilMs(startMs, 'manual')).toBe(startMs + earlyProbeEveryMs)
    expect(queue.parkedUntilMs(startMs, 'first')).toBe(startMs + openMs)
    expect(begin(queue, startMs + earlyProbeEveryMs).delivery.lane).toBe('manual')
  })
})

describe('endpoints that are held', () => {
  const b = { url: urlOf('b'), untilMs: startMs + 60_000 }

  test('get nothing before their hold ends', () => {
    const queue = queueOf(10, 2)
    const delivery = leased({ lane: 'retry', holds: [b] })
    queue.take('retry', [delivery, delivery], 0)
    expect(begin(queue).urls).toEqual([urlOf('a')])
    expect(begin(queue, startMs + 60_000).urls).toEqual([urlOf('a'), urlOf('b')])
  })

  test('return a delivery if no other endpoint is available yet', () => {
    const queue = queueOf(10, 2)
    const holds = [b, { url: urlOf('a'), untilMs: startMs + 70_000 }]
    const delivery = leased({ lane: 'retry', holds })
    queue.take('retry', [delivery], 0)
    const settlement = { kind: 'returned', delivery, dueAtMs: startMs + 60_000 }
    expect(queue.next(startMs)).toEqual({ kind: 'settled', settlement })
    expect(queue.isEmpty).toBe(true)
  })

  test('fail a delivery that has no endpoint left, as after a change of the settings', () => {
    const queue = queueOf()
    const holds = [b, { url: urlOf('a'), untilMs: null }]
    const delivery = leased({ lane: 'retry', attempts: 3, holds })
    queue.take('retry', [delivery], 0)
    expect(queue.next(startMs)).toEqual({
      kind: 'settled',
      settlement: { kind: 'failed', delivery, attempts: 3, reason: 'no_endpoint_left' },
    })
  })
})

describe('a delivery whose only remaining endpoint has an open breaker', () => {
  const holds = [{ url: urlOf('b'), untilMs: null }]

  test('is returned until the probe is due', () => {
    const queue = queueOf(10, 2)
    open(queue, 0)
    const firstAttemptAtMs = startMs - retryWindowMs
    const delivery = leased({ lane: 'retry', attempts: 2, firstAttemptAtMs, holds })
    queue.take('retry', [delivery], 0)
    const settlement = { kind: 'returned', delivery, dueAtMs: startMs + openMs }
    expect(queue.next(startMs)).toEqual({ kind: 'settled', settlement })
  })

  test('expires once its window is over', () => {
    const queue = queueOf(10, 2)
    open(queue, 0)
    const firstAttemptAtMs = startMs - retryWindowMs - 1
    const delivery = leased({ lane: 'retry', attempts: 2, firstAttemptAtMs, holds })
    queue.take('retry', [delivery], 0)
    expect(queue.next(startMs)).toEqual({
      kind: 'settled',
      settlement: { kind: 'expired', delivery, attempts: 2, reason: 'window_over' },
    })
  })

  test('waits while the probe is in progress', () => {
    const queue = queueOf(10, 2)
    open(queue, 0)
    const delivery = leased({ lane: 'retry', holds })
    queue.take('retry', [delivery, delivery], 0)
    const probeAtMs = startMs + openMs
    expect(begin(queue, probeAtMs).urls).toEqual([urlOf('a')])
    expect(queue.next(probeAtMs)).toBeUndefined()
  })
})

test('a delivery expires instead of being tried once its window is over', () => {
  const queue = queueOf(10)
  const firstAttemptAtMs = startMs - retryWindowMs
  const late = leased({ id: 1, lane: 'retry', attempts: 3, firstAttemptAtMs })
  queue.take('retry', [late, { ...late, id: 2 }], 0)
  expect(begin(queue, startMs)).toMatchObject({ delivery: { id: 1 } })
  expect(queue.next(startMs + 1)).toMatchObject({
    kind: 'settled',
    settlement: { kind: 'expired', delivery: { id: 2 }, attempts: 3, reason: 'window_over' },
  })
})

test('a delivery that must wait for a probe does not block later ones to other endpoints', () => {
  const queue = queueOf(10, 2)
  open(queue, 0)
  const probeAtMs = startMs + openMs
  queue.take('first', [leased({ id: 1 })], 0)
  expect(begin(queue, probeAtMs).urls).toEqual([urlOf('a'), urlOf('b')])
  const onlyA = leased({ id: 2, lane: 'retry', holds: [{ url: urlOf('b'), untilMs: null }] })
  const both = leased({ id: 3, lane: 'retry' })
  queue.take('retry', [onlyA, both], 0)
  expect(begin(queue, probeAtMs)).toMatchObject({ delivery: { id: 3 }, urls: [urlOf('b')] })
  expect(queue.next(probeAtMs)).toBeUndefined()
})

test('a round waits for a healthy endpoint that is busy, and does not start without it', () => {
  const queue = queueOf(1, 2)
  fill(queue, 'first', 2)
  const { gates, delivery } = queue.next(startMs) as RoundStart
  const [a, b] = gates.map((gate) => ({ gate, request: gate.begin(startMs, 'first') }))
  a!.gate.end(a!.request, answered(200), startMs)
  queue.end(delivery)
  expect(queue.next(startMs)).toBeUndefined()
  b!.gate.end(b!.request, answered(200), startMs)
  expect(begin(queue).urls).toEqual([urlOf('a'), urlOf('b')])
})

describe('deliveries that pass others', () => {
  test('take turns with those that are ready, and use none of the room for claims', () => {
    const queue = queueOf(2)
    const claimed = fill(queue, 'first', 3)
    const free = queue.room('first', startMs)
    expect(queue.roomAhead(startMs)).toBe(100)
    queue.reserve('ahead', 4)
    expect(queue.roomAhead(startMs)).toBe(96)
    const ahead = Array.from({ length: 4 }, (_, index) => leased({ id: 101 + index }))
    queue.take('ahead', ahead, 4)
    expect(queue.room('first', startMs)).toBe(free)
    const started = Array.from({ length: 7 }, () => {
      const { delivery, end } = begin(queue)
      end()
      return delivery.id
    })
    const [first, second, third] = claimed.map(({ id }) => id)
    expect(started).toEqual([first, 101, second, 102, third, 103, 104])
    expect(queue.roomAhead(startMs)).toBe(100)
    expect(queue.isEmpty).toBe(true)
  })

  test('stay ready in addition to the prefetched ones, and are returned with them', () => {
    const queue = queueOf(1)
    fill(queue, 'first', 2)
    queue.take('ahead', [leased({ id: 101 }), leased({ id: 102 })], 0)
    expect(queue.giveBackIdle(startMs)).toEqual([])
    expect(queue.giveBack()).toHaveLength(4)
    expect(queue.roomAhead(startMs)).toBe(100)
  })

  test('get no room while the endpoint is blocked', () => {
    const queue = queueOf(1)
    open(queue)
    expect(queue.roomAhead(startMs)).toBe(0)
  })
})
