import type { DeliveryFields } from '../../../src/admin-api/index.ts'
import { describe, expect, test } from 'vitest'
import { formatTimestamp } from '../../../src/model/index.ts'
import { logged } from './stores.ts'
import { waitsAt, type DestinationStatus, type Wait } from '../../../src/cli/deliveries/status.ts'

/** Half past ten in the time zone of the tests. */
const nowMs = new Date(2026, 10, 20, 10, 30).getTime()
const [a, b] = ['https://example.com/a', 'https://example.com/b']
const minute = 60_000

/** A destination whose endpoints are probed at these times. Null means that the endpoint is not down. */
function destinationWith(
  probeTimesMs: readonly (number | null)[],
  enabled = true,
): DestinationStatus {
  const endpoints = probeTimesMs.map((probeAtMs, index) => ({
    url: [a, b][index]!,
    probeAt: probeAtMs === null ? null : formatTimestamp(probeAtMs),
    faults: [],
  }))
  return { id: 'crm', enabled, endpoints }
}

const due = logged({ dueAtMs: nowMs - minute })
const unknown = {
  fields: {},
  note: 'It is being sent, or no endpoint of its destination answers, or no process delivers to its destination.',
}
const removed = {
  fields: { destinationIs: 'removed' },
  held: 'destination is no longer configured',
  note: 'Its destination is no longer configured: add the destination again, or discard the delivery.',
}
const disabled = {
  fields: { destinationIs: 'disabled' },
  held: 'destination is disabled',
  note: 'Its destination is disabled: enable the destination, or discard the delivery.',
}
const inTurn = { fields: {}, note: 'It is being sent, or is waiting for its turn.' }

/** A wait for endpoints that are down. The first probe is at `untilMs`. */
function parkedAt(untilMs: number, parked: string, ...urls: readonly string[]): Wait {
  return { fields: { parked: { urls, until: formatTimestamp(untilMs) } }, parked }
}

describe('waitsAt', () => {
  test.each<[string, DeliveryFields, readonly DestinationStatus[] | undefined, unknown]>([
    [
      'a delivery that is not due',
      logged({ dueAtMs: nowMs + 1 }),
      [destinationWith([nowMs])],
      undefined,
    ],
    ['a later retry to another destination', logged({ dueAtMs: nowMs + 1 }), [], removed],
    ['a settled delivery', logged({ dueAtMs: null }), [destinationWith([nowMs])], undefined],
    ['a delivery of a store without a service', due, undefined, unknown],
    ['another destination', due, [{ ...destinationWith([null]), id: 'mail' }], removed],
    ['a disabled destination', due, [destinationWith([nowMs], false)], disabled],
    ['an endpoint that answers', due, [destinationWith([null])], inTurn],
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
      { ...inTurn, note: 'It is being sent, or is waiting for its turn at 50/s.' },
    ],
    ['one of two that answers', due, [destinationWith([nowMs + minute, null])], inTurn],
    [
      'all down',
      due,
      [destinationWith([nowMs + 2, nowMs + 1])],
      parkedAt(nowMs + 1, `parked: ${a} and ${b} are down, next probe at 10:30:00`, a, b),
    ],
    [
      'a probe that is due',
      due,
      [destinationWith([nowMs - 1])],
      parkedAt(nowMs - 1, `parked: ${a} is down, next probe now`, a),
    ],
    [
      'a retry by hand',
      { ...due, lane: 'manual' },
      [destinationWith([nowMs + minute])],
      parkedAt(nowMs + minute, `parked: ${a} is down, next probe at 10:31:00`, a),
    ],
    [
      'an endpoint with a permanent hold',
      { ...due, holds: [{ url: b, until: null }] },
      [destinationWith([nowMs + minute, null])],
      parkedAt(nowMs + minute, `parked: ${a} is down, next probe at 10:31:00`, a),
    ],
    [
      'an endpoint with a hold that ends now',
      { ...due, holds: [{ url: b, until: formatTimestamp(nowMs) }] },
      [destinationWith([nowMs + minute, null])],
      inTurn,
    ],
    [
      'an endpoint with a hold, the only one',
      { ...due, holds: [{ url: a, until: formatTimestamp(nowMs + 1) }] },
      [destinationWith([nowMs + minute])],
      inTurn,
    ],
  ])('says what delays %s', (...[, delivery, destinations, wait]) => {
    expect(waitsAt(nowMs, destinations)(delivery)).toEqual(wait)
  })
})

test('an address of a parked delivery is safe to print', () => {
  const [endpoint] = destinationWith([nowMs]).endpoints
  const destination = { id: 'crm', enabled: true, endpoints: [{ ...endpoint!, url: `${a}\n` }] }
  expect(waitsAt(nowMs, [destination])(due)).toEqual(
    parkedAt(nowMs, `parked: ${a}  is down, next probe now`, `${a}\n`),
  )
})
