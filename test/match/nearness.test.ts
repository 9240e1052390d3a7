import { describe, expect, test } from 'vitest'
import {
  ExpectationTracker,
  expectationOf,
  matchOf,
  parseMatch,
  type Match,
  type Subject,
} from '../../src/match/index.ts'
import { nearness } from '../../src/match/nearness.ts'
import type { JsonObject } from '../../src/model/index.ts'
import { subject } from './subjects.ts'

/** The request that a report shows beside an unmet expectation. */
function nearest(match: Match, subjects: readonly Subject[]): Subject | undefined {
  const tracker = new ExpectationTracker(expectationOf(match, { atLeast: 9, atMost: 9 }), 0)
  for (const each of subjects) tracker.observe(each)
  const { shortfall } = tracker.result()
  return shortfall?.reason === 'too_few' ? shortfall.nearest : undefined
}

const track = (event: string, properties: JsonObject = {}): Subject =>
  subject({ type: 'track', event, properties })

describe('the nearest request is', () => {
  const match = parseMatch('type:track event:"Order Completed" properties.revenue:>10 sig:valid')
  test.each<[string, Subject, Subject]>([
    [
      'of the right type, although more other terms hold for another type',
      subject({ type: 'track' }, { signature: 'invalid' }),
      subject({ type: 'page', event: 'Order Completed', properties: { revenue: 11 } }),
    ],
    [
      'the one for which more terms hold',
      track('Cart', { revenue: 11 }),
      track('Order Complete', { revenue: 9 }),
    ],
    ['the one with the most similar text', track('Order Completd'), track('Order Cancelled')],
    ['the one that has the field', track('Cart', { revenue: 9 }), track('Cart')],
    ['a webhook rather than another request', subject({ type: 'page' }), subject(null)],
  ])('%s', (_name, near, far) => {
    expect(nearness(match, near)).toBeGreaterThan(nearness(match, far))
    expect(nearest(match, [far, near])).toBe(near)
    expect(nearest(match, [near, far])).toBe(near)
  })

  test('never one that matches', () => {
    const far = track('Cart')
    expect(nearest(match, [track('Order Completed', { revenue: 11 }), far])).toBe(far)
  })

  test('the first of several equally near ones', () => {
    const [one, other] = [track('Cart'), track('Cart')]
    expect(nearest(match, [one, other])).toBe(one)
  })

  test('absent if there are no requests', () => {
    expect(nearest(match, [])).toBeUndefined()
    expect(nearest(parseMatch('event:A'), [subject({ type: 'page' })])).toBeUndefined()
    expect(nearest(parseMatch('-type:page'), [subject({ type: 'page' })])).toBeUndefined()
  })

  test('of the right type also if an object is expected', () => {
    const expected = matchOf({ type: 'track', userId: 'u_1', event: 'A' })
    const near = subject({ type: 'track' })
    expect(nearest(expected, [subject({ type: 'page', userId: 'u_1', event: 'A' }), near])).toBe(
      near,
    )
    const likest = subject({ type: 'track', userId: 'u_2', event: 'B' })
    expect(nearest(expected, [near, likest])).toBe(likest)
    const order = matchOf({ event: 'Order', count: 1 })
    expect(nearest(order, [track('Cart'), track('Orders')])?.body?.['event']).toBe('Orders')
  })

  test('not judged by a type that it must not have', () => {
    const match = parseMatch('-type:page event:A user:u_1')
    const near = subject({ type: 'page', event: 'A', userId: 'u_1' })
    expect(nearest(match, [near, subject({ type: 'track', event: 'A' })])).toBe(near)
  })

  test('the most similar to any of several accepted values, even empty ones', () => {
    const either = parseMatch('event:Cart,"Order Completed"')
    expect(nearest(either, [track('Page'), track('Order')])?.body?.['event']).toBe('Order')
    expect(nearness(parseMatch('event:""'), track('a'))).toBeGreaterThan(0)
  })
})
