import { expect, test } from 'vitest'
import { timeOrderedId } from '../../src/runtime/time-ordered-id.ts'

test('a new id is a version 7 UUID that begins with the time', () => {
  const nowMs = Date.UTC(2022, 1, 22, 19, 22, 22)
  // The time of the example in RFC 9562, appendix A.6.
  expect(timeOrderedId(nowMs)).toMatch(
    /^017f22e2-79b0-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  )
})

test('ids are sorted by their times, and unique', () => {
  const ids = Array.from({ length: 1_000 }, (_, index) => timeOrderedId(1_600_000_000_000 + index))
  expect(ids.toSorted()).toEqual(ids)
  expect(new Set(Array.from({ length: 10_000 }, () => timeOrderedId(0))).size).toBe(10_000)
})

test('an id contains the given time, even if the previous id had a later one', () => {
  const timesOf = (ids: readonly string[]) => ids.map((id) => id.slice(0, 14))
  expect(timesOf([16, 16, 32, 16].map((nowMs) => timeOrderedId(nowMs)))).toEqual([
    '00000000-0010-',
    '00000000-0010-',
    '00000000-0020-',
    '00000000-0010-',
  ])
})
