import { describe, expect, test } from 'vitest'
import { checkWholeNumber, SettingError } from '../../src/model/index.ts'

describe('checkWholeNumber', () => {
  test.each([0, 1, 9, 10])('takes %d', (value) => {
    expect(checkWholeNumber('queueMax', value, [0, 10])).toBe(value)
  })

  test.each([-1, 11, 1.5, NaN, Infinity, '5', null, undefined, true])('refuses %j', (value) => {
    const check = (): number => checkWholeNumber('queueMax', value, [0, 10])
    expect(check).toThrow(SettingError)
    expect(check).toThrow(`Cannot use queueMax ${String(value)}: it is a whole number from 0 to 10`)
  })
})
