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

  test('forgets no other key for one that is renewed', () => {
    const keys = new RecentKeys(3)
    keys.add('kept', always)
    for (let atMs = 1; atMs <= 20; atMs++) {
      expect(keys.add('renewed', { nowMs: atMs, seenSinceMs: atMs })).toBe(true)
    }
    expect(keys.add('kept', always)).toBe(false)
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

  test('knows every key again, and no other, however many turns the generations take', () => {
    const keysMax = 1_000
    const keys = new RecentKeys(keysMax)
    for (let count = 0; count < 5 * keysMax; count++) {
      const key = `key ${count}`
      expect(keys.add(key, always)).toBe(true)
      const near = `key ${count - (count % keysMax)}`
      expect(keys.add(near, always)).toBe(false)
    }
  })

  test('forgets exactly at the end of its window, never before', () => {
    const keys = new RecentKeys(3)
    keys.add('key', { nowMs: 1_000, seenSinceMs: 0 })
    expect(keys.add('key', { nowMs: 2_000, seenSinceMs: 1_000 })).toBe(false)
    expect(keys.forget({ beforeMs: 1_000, countMax: 9 })).toBe(0)
    expect(keys.add('key', { nowMs: 2_000, seenSinceMs: 1_001 })).toBe(true)
    expect(keys.forget({ beforeMs: 2_001, countMax: 9 })).toBe(1)
    expect(keys.add('key', { nowMs: 2_000, seenSinceMs: -Infinity })).toBe(true)
  })

  test('keeps the promise where keys are removed and come again', () => {
    const keysMax = 3
    const keys = new RecentKeys(keysMax)
    keys.add('kept', always)
    for (let count = 0; count < 2; count++) {
      keys.add('removed', always)
      keys.remove('removed')
      expect(keys.add('removed', always)).toBe(true)
      keys.remove('never added')
    }
    expect(keys.add('kept', always)).toBe(false)
    for (const key of ['a', 'b', 'c']) expect(keys.add(key, always)).toBe(true)
    for (const key of ['a', 'b', 'c']) expect(keys.add(key, always)).toBe(false)
  })

  test('forgets no other key for one that is removed', () => {
    const keysMax = 1_000
    const keys = new RecentKeys(keysMax)
    const added = Array.from({ length: keysMax }, (_, count) => `key ${count}`)
    for (const key of added) keys.add(key, always)
    const isRemoved = (count: number) => count % 2 === 0
    for (const [count, key] of added.entries()) if (isRemoved(count)) keys.remove(key)
    for (const [count, key] of added.entries()) {
      if (!isRemoved(count)) expect(keys.add(key, always)).toBe(false)
    }
  })

  test.each([
    ['\ud800', '\ud801'],
    ['\ud800', '\ufffd'],
    ['a\0', 'a'],
    ['\u00e9', 'e\u0301'],
  ])('tells %j from %j', (one, other) => {
    const keys = new RecentKeys(3)
    expect(keys.add(one, always)).toBe(true)
    expect(keys.add(other, always)).toBe(true)
    expect(keys.add(one, always)).toBe(false)
  })
})
