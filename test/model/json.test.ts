import { expect, test } from 'vitest'
import { isJsonObject } from '../../src/model/index.ts'

test('isJsonObject is true for objects, not for arrays or null', () => {
  expect([{}, { a: 1 }, Object.create(null)].map(isJsonObject)).toEqual([true, true, true])
  expect([[], null, undefined, 'text', 7, true].some(isJsonObject)).toBe(false)
})
