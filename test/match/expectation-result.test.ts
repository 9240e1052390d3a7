import { describe, expect, test } from 'vitest'
import {
  ExpectationTracker,
  parseExpectation,
  shortfallText,
  type ExpectationResult,
  type NumberedSubject,
} from '../../src/match/index.ts'
import { order, page, subject } from './subjects.ts'

/** The result of an expectation whose wait begins at 0. */
function resultOf(text: string, subjects: readonly NumberedSubject[]): ExpectationResult {
  const tracker = new ExpectationTracker<NumberedSubject>(parseExpectation(text), 0)
  for (const each of subjects) tracker.observe(each)
  return tracker.result()
}

function numbered(seq: number, body = order, atMs = 0): NumberedSubject {
  return { ...subject(body, { atMs }), seq }
}

describe('the result of an expectation', () => {
  test('has no shortfall if it was met', () => {
    expect(resultOf('type:track x2', [numbered(1), numbered(2, page), numbered(3)])).toEqual({
      text: 'type:track x2',
      state: 'met',
      matched: 2,
      account: 'expected exactly 2, got 2',
      shortfall: undefined,
    })
  })

  test('with missing requests shows the nearest one beside the expectation', () => {
    const { shortfall, ...rest } = resultOf('type:track properties.quantity:4', [
      numbered(1, page),
      numbered(2),
    ])
    expect(rest).toEqual({
      text: 'type:track properties.quantity:4',
      state: 'unmet',
      matched: 0,
      account: 'expected at least 1, got 0',
    })
    expect(shortfall).toMatchObject({ reason: 'too_few', nearest: { seq: 2 }, lateMs: 0 })
    expect(shortfallText(shortfall!)).toBe(
      [
        'The nearest request is #2:',
        '                       expected  received',
        '  type                 track     track',
        '! properties.quantity  4         3',
      ].join('\n'),
    )
  })

  test('with a late request reports by how much', () => {
    const { shortfall, account } = resultOf('type:track within 2s', [numbered(7, order, 2_400)])
    expect(account).toBe('expected at least 1, got 0, and 1 too late')
    expect(shortfallText(shortfall!)).toBe('#7 arrived 400ms too late')
  })

  test('with one request too many names it', () => {
    const { state, matched, shortfall } = resultOf('type:track x1', [numbered(4), numbered(5)])
    expect({ state, matched }).toEqual({ state: 'unmet', matched: 2 })
    expect(shortfall).toMatchObject({ reason: 'too_many', surplus: { seq: 5 } })
    expect(shortfallText(shortfall!)).toBe('#5 is one too many')
  })

  test('says what is wrong with a request that is not a webhook', () => {
    const malformed = {
      ...subject(null, { status: 400, reason: 'A track call needs an event name' }),
      seq: 1,
    }
    const { shortfall } = resultOf('type:track', [malformed])
    expect(shortfallText(shortfall!)).toBe(
      [
        'The nearest request is #1, which is not a webhook: A track call needs an event name',
        '        expected  received',
        '! type  track     absent',
      ].join('\n'),
    )
    expect(resultOf('type:track', [malformed, numbered(2, page)]).shortfall).toMatchObject({
      nearest: { seq: 2 },
    })
  })

  test.each([
    ['type:track', [], 'No request arrived'],
    ['event:Ping', [numbered(1, page)], 'No request was similar'],
    ['type:track x2', [numbered(1)], 'No other request arrived'],
    ['event:Order* x2', [numbered(1), numbered(2, page)], 'No other request was similar'],
  ] as const)('without a similar request reports that: %j, %#', (text, subjects, words) => {
    const { shortfall } = resultOf(text, subjects)
    expect(shortfallText(shortfall!)).toBe(words)
  })
})
