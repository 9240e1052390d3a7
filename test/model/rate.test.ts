import { expect, test } from 'vitest'
import { parseRate } from '../../src/model/index.ts'

test.each([
  ['50/s', 50],
  ['0.5/s', 0.5],
  ['300/m', 5],
  ['3600/h', 1],
  ['100000/s', 100_000],
])('reads %j', (text, perSecond) => {
  expect(parseRate(text)).toBe(perSecond)
})

test.each(['', '50', '50 /s', '/s', '0/s', '-1/s', '50/d', '50/sec', '1e3/s', '100001/s'])(
  'refuses %j',
  (text) => {
    expect(parseRate(text)).toBeUndefined()
  },
)
