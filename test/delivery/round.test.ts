import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  defaultRetryPolicy,
  isHeld,
  settleRound,
  type EndpointHold,
  type EndpointResult,
  type LeasedDelivery,
  type Settlement,
} from '../../src/delivery/index.ts'
import { startMs } from '../support/recording-runtime.ts'
import { leased, urlOf, urlsOf } from './samples.ts'

const hourMs = 60 * 60 * 1_000
const { windowMs } = defaultRetryPolicy

/**
 * The result of an endpoint. A number is a 503 with that `Retry-After` in milliseconds; null means that it
 * got no request.
 */
type End = 'success' | 'retry' | 'throttled' | 'final' | 'interrupted' | number | null

function resultsOf(ends: readonly End[]): readonly EndpointResult[] {
  return ends.flatMap((end, index) => {
    if (end === null) return []
    const url = urlsOf(ends.length)[index]!
    const rest = { retryAfterMs: undefined, throttled: false, interrupted: false }
    if (typeof end === 'number') {
      return { url, ...rest, verdict: 'retry', error: 'status_503', retryAfterMs: end }
    }
    switch (end) {
      case 'success':
        return { url, ...rest, verdict: end, error: null }
      case 'retry':
        return { url, ...rest, verdict: end, error: 'status_503' }
      case 'throttled':
        return { url, ...rest, verdict: 'retry', error: 'status_429', throttled: true }
      case 'final':
        return { url, ...rest, verdict: end, error: 'status_404' }
      case 'interrupted':
        return { url, ...rest, verdict: 'retry', error: end, interrupted: true }
    }
  })
}

/** Settles a round over the endpoints `a`, `b` and so on, without jitter. By default it takes no time. */
function settle(
  ends: readonly End[],
  delivery = leased(),
  moments: { readonly startedAtMs: number; readonly endedAtMs: number } = {
    startedAtMs: startMs,
    endedAtMs: startMs,
  },
): Settlement {
  const round = { delivery, urls: urlsOf(ends.length), results: resultsOf(ends), ...moments }
  return settleRound(round, defaultRetryPolicy, () => 0.5)
}

/** Makes a delivery that was tried once, with its holds. */
function tried(holds: readonly EndpointHold[], changes: Partial<LeasedDelivery> = {}) {
  const progress = { attempts: 1, windowAttempts: 1, firstAttemptAtMs: startMs - 10_000, holds }
  return leased({ lane: 'retry', ...progress, ...changes })
}

const until = (letter: string, untilMs: number | null): EndpointHold => ({
  url: urlOf(letter),
  untilMs,
})

describe('the settlement of a round', () => {
  const ends = ['success', 'retry', 'final', 'interrupted'] as const
  const errors: Partial<Record<End & string, string>> = { retry: 'status_503', final: 'status_404' }

  function mixes(length: number): readonly (readonly (typeof ends)[number][])[] {
    if (length === 0) return [[]]
    return mixes(length - 1).flatMap((mix) => ends.map((end) => [...mix, end]))
  }

  test.each([1, 2, 3, 4, 5])('follows from every mix of results of %i endpoints', (count) => {
    const all = mixes(count)
    expect(all).toHaveLength(4 ** count)
    for (const mix of all) {
      const settlement = settle(mix)
      const refused = mix.flatMap((end, index) => (end === 'final' ? urlsOf(count)[index]! : []))
      if (mix.includes('success')) {
        expect(settlement).toEqual({ kind: 'delivered', delivery: leased(), attempts: 1 })
      } else if (mix.every((end) => end === 'interrupted')) {
        expect(settlement).toEqual({ kind: 'returned', delivery: leased(), dueAtMs: startMs })
      } else if (mix.includes('interrupted')) {
        const failed = mix.flatMap((end, index) => (end === 'retry' ? urlsOf(count)[index]! : []))
        const holds = [
          ...refused.map((url) => ({ url, untilMs: null })),
          ...failed.map((url) => ({ url, untilMs: startMs + 10_000 })),
        ]
        const windowAttempts = failed.length > 0 ? 1 : 0
        expect(settlement).toEqual({
          kind: 'retry',
          delivery: leased(),
          dueAtMs: startMs,
          expiresAtMs: startMs + windowMs,
          progress: { attempts: 1, windowAttempts, firstAttemptAtMs: startMs, holds },
          reason: [...new Set(mix.flatMap((end) => errors[end] ?? []))].join(', '),
        })
      } else if (mix.includes('retry')) {
        const holds = refused.map((url) => ({ url, untilMs: null }))
        expect(settlement).toEqual({
          kind: 'retry',
          delivery: leased(),
          dueAtMs: startMs + 10_000,
          expiresAtMs: startMs + windowMs,
          progress: { attempts: 1, windowAttempts: 1, firstAttemptAtMs: startMs, holds },
          reason: [...new Set(mix.map((end) => errors[end]))].join(', '),
        })
      } else {
        const reason = 'status_404'
        expect(settlement).toEqual({ kind: 'failed', delivery: leased(), attempts: 1, reason })
      }
    }
  })
})

describe('an endpoint that failed for good', () => {
  test('is remembered in later rounds', () => {
    const settlement = settle(['final', null, 'retry'], tried([until('b', null)]))
    expect(settlement).toMatchObject({
      kind: 'retry',
      progress: { attempts: 2, holds: [until('b', null), until('a', null)] },
    })
  })

  test('ends the delivery if it was the last one left', () => {
    const settlement = settle([null, 'final'], tried([until('a', null)]))
    expect(settlement).toMatchObject({ kind: 'failed', attempts: 2, reason: 'status_404' })
  })

  test('does not end the delivery while an endpoint is left that got no request', () => {
    expect(settle(['final', null])).toMatchObject({
      kind: 'retry',
      dueAtMs: startMs + 10_000,
      progress: { holds: [until('a', null)] },
    })
  })
})

describe('Retry-After', () => {
  test.each([
    { name: 'counts when it is longer than the schedule', ends: [120_000], waitMs: 120_000 },
    { name: 'does not count when it is shorter', ends: [3_000], waitMs: 10_000 },
    { name: 'counts for an hour at most', ends: [24 * hourMs], waitMs: hourMs },
    {
      name: 'of an endpoint that failed for good does not count',
      ends: ['final', 'retry'],
      waitMs: 10_000,
    },
  ] as const)('$name', ({ ends, waitMs }) => {
    expect(settle(ends)).toMatchObject({ kind: 'retry', dueAtMs: startMs + waitMs })
  })

  test('of one endpoint does not delay the other, which gets the next requests alone', () => {
    const first = settle([60_000, 'retry'])
    const holdsAfter = [until('a', startMs + 60_000)]
    expect(first).toMatchObject({ dueAtMs: startMs + 10_000, progress: { holds: holdsAfter } })

    // At 10 s and at 35 s only b gets a request, because the minute of a is not over.
    const endedAtMs = startMs + 10_000
    const second = settle([null, 'retry'], tried(holdsAfter, { firstAttemptAtMs: startMs }), {
      startedAtMs: endedAtMs,
      endedAtMs,
    })
    expect(second).toMatchObject({
      dueAtMs: startMs + 35_000,
      progress: { attempts: 2, holds: holdsAfter },
    })
    const third = settle([null, 'retry'], tried(holdsAfter, { attempts: 2, windowAttempts: 2 }), {
      startedAtMs: startMs + 35_000,
      endedAtMs: startMs + 35_000,
    })
    expect(third).toMatchObject({ dueAtMs: startMs + 97_500, progress: { holds: [] } })
  })

  test('of several endpoints: the shortest decides, the others are held', () => {
    expect(settle([90_000, 60_000, 70_000])).toMatchObject({
      dueAtMs: startMs + 60_000,
      progress: { holds: [until('a', startMs + 90_000), until('c', startMs + 70_000)] },
    })
  })

  test('of an earlier round sets the due time if only its endpoint is left', () => {
    const settlement = settle(['final', null], tried([until('b', startMs + 40_000)]))
    expect(settlement).toMatchObject({
      kind: 'retry',
      dueAtMs: startMs + 40_000,
      progress: { holds: [until('a', null)] },
    })
  })
})

describe('an answer 429', () => {
  test('does not advance the schedule, so the delivery is due at once', () => {
    const delivery = tried([], { attempts: 8, windowAttempts: 3 })
    expect(settle(['throttled'], delivery)).toMatchObject({
      kind: 'retry',
      dueAtMs: startMs,
      progress: { attempts: 9, windowAttempts: 3, firstAttemptAtMs: delivery.firstAttemptAtMs },
    })
  })

  test('counts towards the window', () => {
    expect(settle(['throttled'])).toMatchObject({
      expiresAtMs: startMs + windowMs,
      progress: { attempts: 1, windowAttempts: 0, firstAttemptAtMs: startMs },
    })
    const delivery = tried([], { firstAttemptAtMs: startMs - windowMs - 1 })
    expect(settle(['throttled'], delivery)).toMatchObject({ kind: 'expired', reason: 'status_429' })
  })

  test.each([
    { retryAfterMs: 3_000, waitMs: 3_000 },
    { retryAfterMs: 24 * hourMs, waitMs: hourMs },
  ])('waits $waitMs ms for Retry-After $retryAfterMs ms', ({ retryAfterMs, waitMs }) => {
    const [result] = resultsOf(['throttled'])
    const results = [{ ...result!, retryAfterMs }]
    const moments = { startedAtMs: startMs, endedAtMs: startMs }
    const round = { delivery: leased(), urls: urlsOf(1), results, ...moments }
    expect(settleRound(round, defaultRetryPolicy, () => 0.5)).toMatchObject({
      kind: 'retry',
      dueAtMs: startMs + waitMs,
    })
  })

  test('does not keep another endpoint from advancing the schedule', () => {
    expect(settle(['throttled', 'retry'])).toMatchObject({
      dueAtMs: startMs,
      progress: { windowAttempts: 1, holds: [until('b', startMs + 10_000)] },
    })
  })
})

describe('the window', () => {
  /** Makes a delivery whose window began `ageMs` ago. Its next wait is one hour. */
  const old = (ageMs: number): LeasedDelivery =>
    tried([], { attempts: 9, windowAttempts: 9, firstAttemptAtMs: startMs - ageMs })

  test('includes its last moment', () => {
    expect(settle(['retry'], old(3 * hourMs))).toMatchObject({
      kind: 'retry',
      dueAtMs: startMs + hourMs,
      expiresAtMs: startMs + hourMs,
    })
  })

  test('expires the delivery at once if the next retry is later, with each cause once', () => {
    const delivery = old(3 * hourMs + 1)
    expect(settle(['retry', 'final', 60_000, 'retry'], delivery)).toEqual({
      kind: 'expired',
      delivery,
      attempts: 10,
      reason: 'status_503, status_404',
    })
  })

  test('expires the delivery if no endpoint can get a request within it', () => {
    const settlement = settle([hourMs, hourMs + 1], old(3 * hourMs + 1))
    expect(settlement).toMatchObject({ kind: 'expired', attempts: 10, reason: 'status_503' })
  })

  test('does not expire the delivery while an endpoint can', () => {
    const delivery = old(4 * hourMs - 90_000)
    expect(settle([hourMs, 'throttled'], delivery)).toMatchObject({
      kind: 'retry',
      dueAtMs: startMs,
      progress: { holds: [until('a', startMs + hourMs)] },
    })
  })

  test('begins with the start of the first round, while waits count from the end of each round', () => {
    const moments = { startedAtMs: startMs, endedAtMs: startMs + 4_000 }
    expect(settle(['retry'], leased(), moments)).toMatchObject({
      dueAtMs: startMs + 14_000,
      expiresAtMs: startMs + windowMs,
      progress: { firstAttemptAtMs: startMs },
    })
  })

  test('starts again with a manual retry, which does not reset the attempts', () => {
    const delivery = leased({ lane: 'manual', attempts: 10 })
    expect(settle(['retry'], delivery)).toMatchObject({
      kind: 'retry',
      dueAtMs: startMs + 10_000,
      expiresAtMs: startMs + windowMs,
      progress: { attempts: 11, windowAttempts: 1, firstAttemptAtMs: startMs },
    })
  })

  test('does not end a delivery whose request our side interrupted', () => {
    const delivery = old(5 * hourMs)
    const returned = { kind: 'returned', delivery, dueAtMs: delivery.dueAtMs }
    expect(settle(['interrupted', null], delivery)).toEqual(returned)
  })
})

describe('an endpoint whose request our side interrupted', () => {
  test('gets the request again at once, however often, but the endpoints that refused it do not', () => {
    const first = settle(['interrupted', 'final', 60_000])
    const holds = [until('b', null), until('c', startMs + 60_000)]
    expect(first).toMatchObject({ kind: 'retry', dueAtMs: startMs, progress: { holds } })
    const delivery = tried(holds)
    const returned = { kind: 'returned', delivery, dueAtMs: delivery.dueAtMs }
    expect(settle(['interrupted', null, null], delivery)).toEqual(returned)
  })

  test('does not advance the schedule', () => {
    const delivery = tried([], { attempts: 4, windowAttempts: 3 })
    expect(settle(['interrupted', 'final'], delivery)).toMatchObject({
      progress: { attempts: 5, windowAttempts: 3 },
    })
  })
})

describe('a hold', () => {
  test.each([
    { name: 'for good', hold: until('a', null), held: true },
    { name: 'until later', hold: until('a', startMs + 1), held: true },
    { name: 'until now', hold: until('a', startMs), held: false },
    { name: 'of another endpoint', hold: until('b', null), held: false },
  ])('$name: $held', ({ hold, held }) => {
    expect(isHeld(urlOf('a'), [hold], startMs)).toBe(held)
  })
})

test('a retry is always within the window, and has an endpoint that is not held then', () => {
  const end = fc.oneof(
    fc.constantFrom('retry' as const, 'final' as const, null),
    fc.nat(5 * hourMs),
  )
  const property = fc.property(
    fc
      .array(end, { minLength: 1, maxLength: 5 })
      .filter((ends) => ends.some((one) => one !== null)),
    fc.nat(3 * hourMs),
    fc.array(fc.option(fc.integer({ min: -hourMs, max: 5 * hourMs }), { nil: null }), {
      maxLength: 5,
    }),
    (ends, ageMs, heldMs) => {
      // Only endpoints without a request have a hold.
      const urls = urlsOf(ends.length)
      const holds = heldMs.flatMap((forMs, index) =>
        ends[index] === null
          ? [{ url: urls[index]!, untilMs: forMs === null ? null : startMs + forMs }]
          : [],
      )
      const firstAttemptAtMs = startMs - ageMs
      const settlement = settle(ends, tried(holds, { firstAttemptAtMs }))
      if (settlement.kind !== 'retry') {
        expect(['failed', 'expired']).toContain(settlement.kind)
        return
      }
      const { dueAtMs, expiresAtMs, progress } = settlement
      expect(dueAtMs).toBeGreaterThanOrEqual(startMs + 25_000)
      expect(dueAtMs).toBeLessThanOrEqual(expiresAtMs)
      expect(expiresAtMs).toBe(firstAttemptAtMs + windowMs)
      expect(urls.some((url) => !isHeld(url, progress.holds, dueAtMs))).toBe(true)
      for (const [index, one] of ends.entries()) {
        const isRequested = !isHeld(urls[index]!, progress.holds, dueAtMs)
        if (one === 'final') expect(isRequested).toBe(false)
        if (typeof one === 'number')
          expect(isRequested).toBe(startMs + Math.min(one, hourMs) <= dueAtMs)
      }
    },
  )
  fc.assert(property)
})
