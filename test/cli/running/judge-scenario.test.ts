import { describe, expect, test } from 'vitest'
import {
  judgeScenario,
  spanMs,
  type ScenarioObservation,
} from '../../../src/cli/running/scenarios.ts'
import type { RequestRecord, SettledDelivery } from '../../../src/model/index.ts'
import type { Scenario } from '../../../src/receiver/index.ts'

const scenario: Pick<Scenario, 'webhooks' | 'expected'> = {
  webhooks: 1,
  expected: {
    state: 'delivered',
    requests: [2, 2],
    error: 'timeout',
    text: 'timed out, then delivered by the retry',
  },
}

function request(changes: Partial<RequestRecord> = {}): RequestRecord {
  return {
    destinationId: 'scenario',
    deliveryId: 1,
    messageId: 'm_1',
    url: 'http://127.0.0.1:4100/',
    lane: 'first',
    attempt: 1,
    atMs: 0,
    outcome: 'success',
    status: 200,
    error: null,
    durationMs: 1,
    excerpt: '',
    ...changes,
  }
}

const timeout = { outcome: 'retry', status: null, error: 'timeout' } as const
const delivered: SettledDelivery = {
  messageId: 'm_1',
  type: 'track',
  destinationId: 'scenario',
  state: 'delivered',
  attempts: 2,
  acceptedAtMs: 0,
  reason: null,
}

/** A timeout, and the retry that delivered. */
const observed: ScenarioObservation = {
  settled: [delivered],
  requests: [request(timeout), request({ attempt: 2, atMs: 10_000 })],
  arrived: [2],
  logged: ['timeout'],
}

describe('the observations of a scenario', () => {
  test('are as expected', () => {
    expect(judgeScenario(scenario, observed)).toEqual([])
  })

  test.each<[string, Partial<ScenarioObservation>]>([
    ['0 of 1 were settled', { settled: [] }],
    ['not every delivery is delivered', { settled: [{ ...delivered, state: 'expired' }] }],
    ['exactly 2 must arrive for each webhook, but 3 arrived', { arrived: [3] }],
    ['exactly 2 must arrive for each webhook, but 0 arrived', { arrived: [] }],
    ['no request failed with timeout', { requests: [request()] }],
    [
      'a request failed for another reason',
      { requests: [request(timeout), request({ ...timeout, error: 'ECONNRESET' })] },
    ],
    ['evroute did not log the timeout', { logged: [] }],
    [
      'a webhook was sent again after an endpoint had accepted it',
      { requests: [request(timeout), request(), request({ attempt: 2 })] },
    ],
    [
      'it was retried for more than four hours',
      { requests: [request(timeout), request({ attempt: 2, atMs: 4 * 60 * 60 * 1_000 + 1 })] },
    ],
  ])('are wrong: %s', (complaint, change) => {
    expect(judgeScenario(scenario, { ...observed, ...change })).toEqual([complaint])
  })

  test('need a line in the log only for a timeout', () => {
    const failed = { ...observed, requests: [request({ ...timeout, error: 'status_503' })] }
    expect(
      judgeScenario(
        { ...scenario, expected: { ...scenario.expected, error: 'status_503' } },
        { ...failed, logged: [] },
      ),
    ).toEqual([])
  })

  test('span no time without requests', () => {
    expect(spanMs([])).toBe(0)
  })
})
