import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { callTypes, checkCall, isRejectionCode, type CallType } from '../../src/model/index.ts'

/** One complete call of each type, with the fields that it may have. */
const complete: Readonly<Record<CallType, Readonly<Record<string, unknown>>>> = {
  identify: { type: 'identify', userId: 'user-1', traits: { plan: 'free' } },
  track: { type: 'track', userId: 'user-1', event: 'Order Completed', properties: { total: 9.5 } },
  page: { type: 'page', userId: 'user-1', name: 'Home', category: 'Docs', properties: {} },
  screen: { type: 'screen', userId: 'user-1', name: 'Home', category: 'App', properties: {} },
  group: { type: 'group', userId: 'user-1', groupId: 'group-1', traits: { seats: 5 } },
  alias: { type: 'alias', userId: 'user-1', previousId: 'anonymous-1' },
}

const absent = [undefined, null, ''] as const

function check(call: object): unknown {
  const result = checkCall(call)
  return result.kind === 'valid' ? 'valid' : result.code
}

describe('checkCall', () => {
  test.each(callTypes)('accepts a complete %s and returns it unchanged', (type) => {
    const call = complete[type]
    expect(checkCall(call)).toEqual({ kind: 'valid', type, call })
    expect(checkCall({ ...call, context: {}, integrations: { All: true } }).kind).toBe('valid')
  })

  test.each(callTypes.filter((type) => type !== 'alias'))(
    '%s needs a userId or an anonymousId',
    (type) => {
      for (const userId of absent) {
        const call = { ...complete[type], userId }
        expect(check({ ...call, anonymousId: 'anonymous-1' })).toBe('valid')
        for (const anonymousId of absent) {
          expect(check({ ...call, anonymousId })).toBe('no_user_anon_id')
        }
      }
    },
  )

  test.each<[CallType, string, string]>([
    ['track', 'event', 'no_event'],
    ['group', 'groupId', 'no_group_id'],
    ['alias', 'previousId', 'no_previous_id'],
    ['alias', 'userId', 'no_user_id'],
  ])('%s needs its %s: %s', (type, field, code) => {
    for (const value of absent) expect(check({ ...complete[type], [field]: value })).toBe(code)
  })

  test('does not accept an anonymousId as the userId of an alias', () => {
    const call = { type: 'alias', previousId: 'anonymous-1', anonymousId: 'anonymous-1' }
    expect(check(call)).toBe('no_user_id')
  })

  test.each(['userId', 'anonymousId', 'groupId', 'previousId', 'messageId'])(
    'accepts only a string or a number as %s',
    (field) => {
      const call = { ...complete.identify, anonymousId: 'anonymous-1' }
      for (const id of ['id-1', 0, 42, -1.5, null, undefined, '']) {
        expect(check({ ...call, [field]: id })).toBe('valid')
      }
      for (const id of [true, false, {}, [], ['id-1'], NaN, Infinity, 1n, Symbol('id')]) {
        expect(checkCall({ ...call, [field]: id })).toEqual({
          kind: 'invalid',
          code: 'wrong_type',
          message: `${field} must be a string`,
        })
      }
      // JSON.parse reads 1234567890123456789 and 1234567890123456790 as the same number.
      expect(check({ ...call, [field]: Number.MAX_SAFE_INTEGER })).toBe('valid')
      for (const id of [1_234_567_890_123_456_789, -(2 ** 53)]) {
        expect(checkCall({ ...call, [field]: id })).toEqual({
          kind: 'invalid',
          code: 'wrong_type',
          message: `${field} must be a string, because JSON rounds whole numbers above 2^53`,
        })
      }
    },
  )

  test.each(['event', 'name', 'category'])('accepts only a string as %s', (field) => {
    for (const text of ['text', null, undefined]) {
      expect(check({ ...complete.page, [field]: text })).toBe('valid')
    }
    for (const text of [7, true, {}, []]) {
      expect(checkCall({ ...complete.track, [field]: text })).toEqual({
        kind: 'invalid',
        code: 'wrong_type',
        message: `${field} must be a string`,
      })
    }
  })

  test.each(['context', 'integrations', 'properties', 'traits'])(
    'accepts only an object as %s',
    (field) => {
      for (const object of [{}, { a: 1 }, null, undefined]) {
        expect(check({ ...complete.identify, [field]: object })).toBe('valid')
      }
      for (const object of ['text', 7, true, false, [], [{}]]) {
        expect(checkCall({ ...complete.identify, [field]: object })).toEqual({
          kind: 'invalid',
          code: 'wrong_type',
          message: `${field} must be an object`,
        })
      }
    },
  )

  test.each([null, undefined, 'text', 7, true, [], [{ type: 'track' }]])(
    'refuses %j, which is not an object',
    (value) => {
      expect(checkCall(value)).toEqual({
        kind: 'invalid',
        code: 'not_an_object',
        message: 'A call must be a JSON object',
      })
    },
  )

  test.each<[unknown, string]>([
    [undefined, 'it has none'],
    [null, 'it has none'],
    ['delete', 'found "delete"'],
    ['Track', 'found "Track"'],
    ['line\nbreak', 'found "line\\nbreak"'],
    ['x'.repeat(1_000), `found "${'x'.repeat(60)}"`],
    [7, 'found a number'],
    [1n, 'found a bigint'],
    [['track'], 'found an array'],
    [{ toJSON: 'track' }, 'found an object'],
  ])('refuses an unknown type, and shows it', (type, found) => {
    expect(checkCall({ type, userId: 'user-1' })).toEqual({
      kind: 'invalid',
      code: 'unknown_type',
      message: `A call's type must be identify, track, page, screen, group or alias: ${found}`,
    })
  })

  test('reads a key named __proto__ as data, not as a type', () => {
    expect(check(JSON.parse('{"__proto__":{"type":"identify"},"userId":"u"}') as object)).toBe(
      'unknown_type',
    )
  })

  test('gives a code and a message for any value that it refuses', () => {
    const anything = fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true })
    const call = fc.record(
      {
        type: fc.oneof(fc.constantFrom(...callTypes), anything),
        userId: anything,
        anonymousId: anything,
        event: anything,
        groupId: anything,
        previousId: anything,
        properties: anything,
        traits: anything,
        context: anything,
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fc.oneof(anything, call), (value) => {
        const result = checkCall(value)
        if (result.kind === 'valid') expect(callTypes).toContain(result.type)
        else {
          expect(isRejectionCode(result.code)).toBe(true)
          expect(result.message).not.toBe('')
        }
      }),
    )
  })
})

test('isRejectionCode is true only for the codes of rejected calls', () => {
  expect(isRejectionCode('event_too_large')).toBe(true)
  expect(isRejectionCode('internal')).toBe(false)
})

test('checkCall refuses a messageId that is too long for an index', () => {
  const check = (length: number) =>
    checkCall({ type: 'track', event: 'E', userId: 'u_1', messageId: 'm'.repeat(length) })
  expect(check(512)).toMatchObject({ kind: 'valid' })
  expect(check(513)).toEqual({
    kind: 'invalid',
    code: 'wrong_type',
    message: 'messageId must have at most 512 characters',
  })
})
