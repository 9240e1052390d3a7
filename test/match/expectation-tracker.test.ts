import { describe, expect, test } from 'vitest'
import {
  ExpectationTracker,
  parseExpectation,
  type ExpectationState,
  type Subject,
} from '../../src/match/index.ts'
import { countSurvivors } from '../support/collect-garbage.ts'
import { subject } from './subjects.ts'

const startedAtMs = 1_000

function tracking(text: string, ...atMs: readonly number[]): ExpectationTracker {
  const tracker = new ExpectationTracker(parseExpectation(text), startedAtMs)
  for (const at of atMs) tracker.observe(subject({ type: 'track', event: 'A' }, { atMs: at }))
  return tracker
}

function nearestOf(tracker: ExpectationTracker): Subject | undefined {
  const { shortfall } = tracker.result()
  return shortfall?.reason === 'too_few' ? shortfall.nearest : undefined
}

function surplusOf(tracker: ExpectationTracker): Subject | undefined {
  const { shortfall } = tracker.result()
  return shortfall?.reason === 'too_many' ? shortfall.surplus : undefined
}

describe('an expectation has the right state during the wait and result at the end, after this many matching requests', () => {
  test.each<[string, number, ExpectationState, boolean]>([
    ['type:track', 0, 'missing', false],
    ['type:track', 1, 'decided', true],
    ['type:track', 9, 'decided', true],
    ['type:track x2..', 1, 'missing', false],
    ['type:track x2..', 2, 'decided', true],
    ['type:track x0..', 0, 'decided', true],
    ['type:track x2', 1, 'missing', false],
    ['type:track x2', 2, 'satisfied', true],
    ['type:track x2', 3, 'decided', false],
    ['type:track x1..2', 0, 'missing', false],
    ['type:track x1..2', 1, 'satisfied', true],
    ['type:track x1..2', 2, 'satisfied', true],
    ['type:track x1..2', 3, 'decided', false],
    ['type:track never', 0, 'satisfied', true],
    ['type:track never', 1, 'decided', false],
  ])('%s: %d', (text, times, ...[meanwhile, isMet]) => {
    const tracker = tracking(text, ...Array.from({ length: times }, () => startedAtMs))
    expect(tracker.result().matched).toBe(times)
    expect(tracker.stateAt(Number.MAX_SAFE_INTEGER)).toBe(meanwhile)
    expect(tracker.result().state).toBe(isMet ? 'met' : 'unmet')
    const timed = tracking(`${text} within 2s`, ...Array.from({ length: times }, () => startedAtMs))
    expect(timed.stateAt(3_000)).toBe(meanwhile)
    expect(timed.stateAt(3_001)).toBe('decided')
    expect(timed.result().state).toBe(isMet ? 'met' : 'unmet')
  })
})

test('a request that arrives after the deadline does not count, whenever it is reported', () => {
  const tracker = tracking('type:track x1 within 2s', 3_001, 3_000, 9_000)
  expect(tracker.deadlineMs).toBe(3_000)
  expect(tracker.account).toBe('expected exactly 1, got 1, and 2 too late')
  expect(tracker.stateAt(10_000)).toBe('decided')
  expect(tracker.result().state).toBe('met')
  expect(tracking('type:track never within 2s', 3_001).result().state).toBe('met')
})

test('there is no deadline without "within"', () => {
  expect(tracking('type:track').deadlineMs).toBe(Infinity)
})

test('the nearest non-matching request is kept, and the first of several equally near ones', () => {
  const tracker = new ExpectationTracker(parseExpectation('type:track event:Order'), 0)
  const [far, near, equal] = [{ event: 'Cart' }, { event: 'Orders' }, { event: 'Orders' }].map(
    (body) => subject({ type: 'track', ...body }),
  ) as [Subject, Subject, Subject]
  expect(nearestOf(tracker)).toBeUndefined()
  tracker.observe(far)
  expect(nearestOf(tracker)).toBe(far)
  tracker.observe(near)
  tracker.observe(equal)
  tracker.observe(far)
  expect(nearestOf(tracker)).toBe(near)
})

test('the first late request is nearer than any non-matching one', () => {
  const tracker = new ExpectationTracker(parseExpectation('type:track within 1s'), 0)
  const [late, later] = [
    subject({ type: 'track' }, { atMs: 1_001 }),
    subject({ type: 'track' }, { atMs: 1_002 }),
  ]
  tracker.observe(subject({ type: 'page' }))
  tracker.observe(late)
  tracker.observe(later)
  tracker.observe(subject({ type: 'page' }))
  expect(nearestOf(tracker)).toBe(late)
})

test('the first surplus request is kept', () => {
  const tracker = new ExpectationTracker(parseExpectation('type:track x1'), 0)
  const [first, second, third] = [1, 2, 3].map((atMs) => subject({ type: 'track' }, { atMs })) as [
    Subject,
    Subject,
    Subject,
  ]
  tracker.observe(first)
  expect(surplusOf(tracker)).toBeUndefined()
  tracker.observe(second)
  tracker.observe(third)
  expect(surplusOf(tracker)).toBe(second)
})

test.each([
  ['type:track x3', [1_000, 1_000], 'expected exactly 3, got 2'],
  ['type:track x3 within 1s', [1_000, 9_000], 'expected exactly 3, got 1, and 1 too late'],
  ['type:track never', [1_000], 'expected none, got 1'],
  ['type:page', [1_000], 'expected at least 1, got 0'],
])('%s says how many requests it expected and got', (text, atMs, account) => {
  expect(tracking(text, ...atMs).account).toBe(account)
})

test('at most two of 100,000 requests are kept, and each is counted', async () => {
  const tracker = new ExpectationTracker(parseExpectation('type:track event:"Order*" x30000'), 0)
  const references = Array.from({ length: 100_000 }, (_, index) => {
    const event = index % 2 === 0 ? `Order ${index}` : `Cart ${index}`
    const request = subject({ type: 'track', event })
    tracker.observe(request)
    return new WeakRef(request)
  })
  expect(tracker.result().matched).toBe(50_000)
  expect(await countSurvivors(references, 2)).toBe(2)
  expect(surplusOf(tracker)?.body?.['event']).toBe('Order 60000')
})
