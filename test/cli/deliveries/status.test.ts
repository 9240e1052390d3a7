import { describe, expect, test } from 'vitest'
import type { LoggedDelivery } from '../../../src/delivery/index.ts'
import { logged } from './stores.ts'
import { ordinal, statusText } from '../../../src/cli/deliveries/status.ts'

/** Half past ten in the time zone of the tests. */
const nowMs = new Date(2026, 10, 20, 10, 30).getTime()
const second = 1_000
const minute = 60 * second

const ended = { dueAtMs: null, settledAtMs: nowMs - 2 * minute }

describe('statusText', () => {
  test.each<[Partial<LoggedDelivery>, string]>([
    [
      {
        lane: 'retry',
        attempts: 3,
        reason: 'status_503',
        dueAtMs: nowMs + 2 * minute,
        expiresAtMs: nowMs + 200 * minute,
      },
      'waits for its 4th attempt after status_503, due in 2m (10:32:00); expires at 13:50:00',
    ],
    [
      { lane: 'first', dueAtMs: nowMs - 5 * second },
      'waits for its 1st attempt, due for 5s (since 10:29:55)',
    ],
    [
      { lane: 'manual', attempts: 9, dueAtMs: nowMs - 90 * second },
      'waits for its 10th attempt, which was requested by hand, due for 1m 30s (since 10:28:30)',
    ],
    [
      { lane: 'retry', attempts: 1, dueAtMs: nowMs, expiresAtMs: nowMs + 24 * 60 * minute },
      'waits for its 2nd attempt, due for 0ms (since 10:30:00); expires at 2026-11-21 10:30:00',
    ],
    [
      { ...ended, state: 'delivered', attempts: 2 },
      'delivered on its 2nd attempt at 10:28:00 (2m ago)',
    ],
    [
      { ...ended, state: 'delivered', attempts: 1, settledAtMs: nowMs - 132 * second },
      'delivered on its 1st attempt at 10:27:48 (2m ago)',
    ],
    [
      { ...ended, state: 'failed', reason: 'status_404' },
      'failed at 10:28:00 (2m ago): answered 404',
    ],
    [
      { ...ended, state: 'failed', reason: 'status_404, status_410' },
      'failed at 10:28:00 (2m ago): answered 404, answered 410',
    ],
    [
      { ...ended, state: 'failed', reason: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
      'failed at 10:28:00 (2m ago): self-signed certificate (DEPTH_ZERO_SELF_SIGNED_CERT)',
    ],
    [
      { ...ended, state: 'failed', reason: 'no_endpoint_left' },
      'failed at 10:28:00 (2m ago): no endpoint can take it any more (no_endpoint_left)',
    ],
    [
      { ...ended, state: 'expired', reason: 'timeout, status_503' },
      'expired at 10:28:00 (2m ago): no answer in time (timeout), answered 503',
    ],
    [
      { ...ended, state: 'expired', reason: 'abandoned' },
      'expired at 10:28:00 (2m ago): never tried (abandoned)',
    ],
    [
      { ...ended, state: 'expired', reason: 'window_over' },
      'expired at 10:28:00 (2m ago): the retry window has ended (window_over)',
    ],
    [
      { ...ended, state: 'expired', reason: 'breaker_open, ECONNREFUSED' },
      'expired at 10:28:00 (2m ago): the endpoint was down for the whole retry window (breaker_open), connection refused (ECONNREFUSED)',
    ],
    [
      { dueAtMs: null, settledAtMs: null, state: 'failed', reason: null },
      'failed: no reason was given',
    ],
  ])('of %j is: %s', (details, text) => {
    expect(statusText(logged(details), { nowMs, waitOf: () => undefined })).toBe(text)
  })
})

test('the status of a parked delivery says so', () => {
  const wait = { fields: {}, parked: 'parked: https://example.com/ is down, next probe now' }
  expect(statusText(logged({ expiresAtMs: nowMs + minute }), { nowMs, waitOf: () => wait })).toBe(
    'waits for its 1st attempt, parked: https://example.com/ is down, next probe now; expires at 10:31:00',
  )
})

describe('ordinal', () => {
  test('returns English ordinals', () => {
    expect([1, 2, 3, 4, 10, 11, 12, 13, 20, 21, 22, 23, 101, 111, 112].map(ordinal)).toEqual(
      '1st 2nd 3rd 4th 10th 11th 12th 13th 20th 21st 22nd 23rd 101st 111th 112th'.split(' '),
    )
  })
})
