import { describe, expect, test } from 'vitest'
import { checkParsedCall } from '../../src/intake/index.ts'
import { nested } from './support.ts'

const call = { type: 'track', userId: 'user-1', event: 'E' }

describe('checkParsedCall', () => {
  test('checks a call in the same way as checkCall', () => {
    expect(checkParsedCall(call)).toEqual({ kind: 'valid', type: 'track', call })
    expect(checkParsedCall({ ...call, event: '' })).toMatchObject({ code: 'no_event' })
  })

  test.each([
    ['objects', '{"a":', '}'],
    ['arrays', '[', ']'],
  ])('accepts 500 levels of %s in a field and refuses one more', (_name, open, close) => {
    const check = (levels: number) =>
      checkParsedCall({ ...call, properties: { a: nested(levels - 1, open, close) } })
    expect(check(500).kind).toBe('valid')
    expect(check(501)).toEqual({
      kind: 'invalid',
      code: 'wrong_type',
      message: 'properties must not be nested more than 500 levels deep',
    })
  })

  test('trusts the type of a checked call, but still checks its nesting', () => {
    const checked = { userId: 'user-1' }
    expect(checkParsedCall(checked, 'track')).toEqual({
      kind: 'valid',
      type: 'track',
      call: checked,
    })
    const properties = { deep: nested(500) }
    expect(checkParsedCall({ ...call, properties }, 'track')).toMatchObject({ code: 'wrong_type' })
    expect(checkParsedCall('text', 'track')).toMatchObject({ code: 'not_an_object' })
  })

  test('checks the nesting of every member of a field, not only of the first', () => {
    const traits = { a: [1], b: { c: null }, d: nested(500) }
    expect(checkParsedCall({ ...call, traits })).toMatchObject({ code: 'wrong_type' })
  })

  test.each(['context', 'integrations', 'type', 'unknown'])(
    'refuses 10,000 levels in the field %s instead of overflowing the stack',
    (field) => {
      expect(checkParsedCall({ ...call, [field]: nested(10_000, '{"a":', '}') }).kind).toBe(
        'invalid',
      )
    },
  )
})
