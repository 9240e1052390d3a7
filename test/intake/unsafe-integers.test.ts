import { expect, test } from 'vitest'
import { hasUnsafeInteger } from '../../src/intake/check-parsed-call.ts'

test.each(['9007199254740992', '-9007199254740993', '12345678901234567890', '1e300'])(
  'finds %s, wherever it is',
  (digits) => {
    const texts = [digits, `[1,[${digits}]]`, `{"a":null,"b":{"c":[{"id":${digits}}]}}`]
    for (const text of texts) expect(hasUnsafeInteger(JSON.parse(text))).toBe(true)
  },
)

test.each([
  '9007199254740991',
  '-9007199254740991',
  '0.1234567890123456789',
  '"12345678901234567890"',
  '{"12345678901234567890":1}',
  'null',
  '[]',
])('finds nothing in %s', (text) => {
  expect(hasUnsafeInteger(JSON.parse(text))).toBe(false)
})
