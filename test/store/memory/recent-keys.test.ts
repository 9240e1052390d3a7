import { describe, expect, test } from 'vitest'
import { RecentKeys } from '../../../src/store/memory/recent-keys.ts'

const always = { nowMs: 1_000, seenSinceMs: 0 }

describe('RecentKeys', () => {
  test('forgets keys only when enough newer ones came', () => {
    const keysMax = 3
    const keys = new RecentKeys(keysMax)
    keys.add('key 0', always)
    for (let count = 1; count <= 20; count++) {
      expect(keys.add(`key ${count}`, always)).toBe(true)
      for (let age = 0; age < keysMax && age <= count; age++) {
        expect(keys.add(`key ${count - age}`, always)).toBe(false)
      }
    }
    // Twice as many are kept at the most.
    expect(keys.add(`key ${20 - 2 * keysMax}`, always)).toBe(true)
  })

  test('keeps a key that was renewed as long as a new one', () => {
    const keysMax = 3
    const keys = new RecentKeys(keysMax)
    keys.add('renewed', { nowMs: 1, seenSinceMs: 0 })
    keys.add('a', always)
    keys.add('b', always)
    expect(keys.add('renewed', { nowMs: 9, seenSinceMs: 2 })).toBe(true)
    keys.add('c', always)
    keys.add('d', always)
    expect(keys.add('renewed', { nowMs: 10, seenSinceMs: 9 })).toBe(false)
    expect(keys.add('renewed', { nowMs: 10, seenSinceMs: 10 })).toBe(true)
  })

  test('forgets by age in both generations, no more at once than it is told', () => {
    const keys = new RecentKeys(3)
    for (let atMs = 1; atMs <= 5; atMs++) keys.add(`key ${atMs}`, { nowMs: atMs, seenSinceMs: 0 })
    expect(keys.forget({ beforeMs: 5, countMax: 3 })).toBe(3)
    expect(keys.forget({ beforeMs: 5, countMax: 3 })).toBe(1)
    expect(keys.forget({ beforeMs: 5, countMax: 3 })).toBe(0)
    expect(keys.add('key 5', always)).toBe(false)
    expect(keys.add('key 4', always)).toBe(true)
  })

  test('counts a key that was renewed once', () => {
    const keys = new RecentKeys(2)
    for (const key of ['a', 'b', 'c']) keys.add(key, { nowMs: 1, seenSinceMs: 0 })
    expect(keys.add('a', { nowMs: 2, seenSinceMs: 2 })).toBe(true)
    expect(keys.forget({ beforeMs: 3, countMax: 10 })).toBe(3)
  })
})
