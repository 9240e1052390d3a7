import { expect, test } from 'vitest'
import { KeyTable } from '../../../src/store/memory/key-table.ts'

test('tells digests apart that differ in one word only, and begin at one place', () => {
  const slots = 12
  const table = new KeyTable(9)
  const digest = [1, 2, 3, 4]
  const digests = [digest, ...digest.map((word, place) => digest.with(place, word + slots))]
  for (const [atMs, words] of digests.entries()) {
    expect(table.addedAtMs(Uint32Array.from(words))).toBeNaN()
    table.set(Uint32Array.from(words), atMs)
  }
  const moments = digests.map((words) => table.addedAtMs(Uint32Array.from(words)))
  expect(moments).toEqual([0, 1, 2, 3, 4])
})
