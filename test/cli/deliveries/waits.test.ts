import { describe, expect, test } from 'vitest'
import type { DeliveryFields } from '../../../src/delivery/index.ts'
import { formatTimestamp } from '../../../src/model/index.ts'
import { logged } from './stores.ts'
import {
  waitFields,
  parkedText,
  waitsAt,
  type DestinationStatus,
} from '../../../src/cli/deliveries/status.ts'

/** Half past ten in the time zone of the tests. */
const nowMs = new Date(2026, 10, 20, 10, 30).getTime()
const [a, b] = ['https://example.com/a', 'https://example.com/b']
const minute = 60_000

/** A destination whose endpoints are probed then; null for one that is not down. */
function standing(probeTimesMs: readonly (number | null)[], enabled = true): DestinationStatus {
  const endpoints = probeTimesMs.map((probeAtMs, index) => ({
    url: [a, b][index]!,
    probeAt: probeAtMs === null ? null : formatTimestamp(probeAtMs),
    faults: [],
  }))
  return { id: 'crm', enabled, endpoints }
}

const due = logged({ dueAtMs: nowMs - minute })
const parkedAt = (untilMs: number, ...urls: readonly string[]) => ({
  kind: 'parked',
  urls,
  untilMs,
})

describe('waitsAt', () => {
  test.each<[string, DeliveryFields, readonly DestinationStatus[] | undefined, unknown]>([
    ['a delivery that is not due', logged({ dueAtMs: nowMs + 1 }), [standing([nowMs])], undefined],
    ['a settled delivery', logged({ dueAtMs: null }), [standing([nowMs])], undefined],
    ['a delivery of a store without a service', due, undefined, { kind: 'unknown' }],
    ['another destination', due, [{ ...standing([null]), id: 'mail' }], { kind: 'removed' }],
    ['a destination that is off', due, [standing([nowMs], false)], { kind: 'disabled' }],
    ['an endpoint that answers', due, [standing([null])], { kind: 'in_turn' }],
    [
      'an endpoint with a rate',
      due,
      [
        {
          id: 'crm',
          enabled: true,
          endpoints: [{ url: a, probeAt: null, rate: '50/s', faults: [] }],
        },
      ],
      { kind: 'in_turn', rates: '50/s' },
    ],
    ['one of two that answers', due, [standing([nowMs + minute, null])], { kind: 'in_turn' }],
    ['all down', due, [standing([nowMs + 2, nowMs + 1])], parkedAt(nowMs + 1, a, b)],
    ['a probe that is due', due, [standing([nowMs - 1])], parkedAt(nowMs - 1, a)],
    [
      'a retry by hand',
      { ...due, lane: 'manual' },
      [standing([nowMs + minute])],
      parkedAt(nowMs + minute, a),
    ],
    [
      'an endpoint that is left alone for good',
      { ...due, holds: [{ url: b, until: null }] },
      [standing([nowMs + minute, null])],
      parkedAt(nowMs + minute, a),
    ],
    [
      'an endpoint that was left alone until now',
      { ...due, holds: [{ url: b, until: formatTimestamp(nowMs) }] },
      [standing([nowMs + minute, null])],
      { kind: 'in_turn' },
    ],
    [
      'no endpoint that is left',
      { ...due, holds: [{ url: a, until: formatTimestamp(nowMs + 1) }] },
      [standing([nowMs + minute])],
      { kind: 'in_turn' },
    ],
  ])('tells what keeps %s', (...[, delivery, destinations, wait]) => {
    expect(waitsAt(nowMs, destinations)(delivery)).toEqual(wait)
  })
})

test('a parked delivery is shown to people and programs', () => {
  const [one, two] = [
    { kind: 'parked', urls: [`${a}\n`], untilMs: nowMs + minute },
    { kind: 'parked', urls: [a, b], untilMs: nowMs },
  ] as const
  expect(parkedText(one, nowMs)).toBe(`parked: ${a}  is down, next probe at 10:31:00`)
  expect(parkedText(two, nowMs)).toBe(`parked: ${a} and ${b} are down, next probe now`)
  expect(waitFields(two)).toEqual({ parked: { urls: [a, b], until: formatTimestamp(nowMs) } })
})

test.each(['disabled', 'removed'] as const)('reports that its destination is %s', (kind) => {
  expect(waitFields({ kind })).toEqual({ destinationIs: kind })
  expect(parkedText({ kind }, nowMs)).toBeUndefined()
})

test.each([{ kind: 'unknown' }, { kind: 'in_turn' }, undefined] as const)(
  'what is not parked adds nothing: %j',
  (wait) => {
    expect(parkedText(wait, nowMs)).toBeUndefined()
    expect(waitFields(wait)).toEqual({})
  },
)
