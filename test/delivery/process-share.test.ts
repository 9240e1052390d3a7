import { describe, expect, test } from 'vitest'
import { processGoneMs, shareOf, type ProcessPlace } from '../../src/delivery/index.ts'

/** A place among some that have been the same ones for long, but for what is said. */
function place(changes: Partial<ProcessPlace> = {}): ProcessPlace {
  const settled = { memberMs: processGoneMs, unchangedMs: processGoneMs }
  return { destinationId: 'crm', rank: 0, processes: 1, ...settled, ...changes }
}

/** The parts of all of that many processes. */
function shares(
  concurrency: number,
  processes: number,
  changes: Partial<ProcessPlace> = {},
): readonly number[] {
  return Array.from({ length: processes }, (_, rank) =>
    shareOf(concurrency, place({ processes, rank, ...changes })),
  )
}

describe('a part of the concurrency', () => {
  test('is nothing before the first beat', () => {
    expect(shareOf(10, undefined)).toBe(0)
  })

  test('is everything for one that is alone, however new', () => {
    expect(shareOf(10, place({ memberMs: 0, unchangedMs: 0 }))).toBe(10)
  })

  test.each([1, 2, 3, 7, 10, 1_000])('is as equal as can be, and all of %i in sum', (all) => {
    for (const processes of [1, 2, 3, 4, 7, 11]) {
      const parts = shares(all, processes)
      expect(parts.reduce((sum, part) => sum + part, 0)).toBe(all)
      expect(Math.max(...parts) - Math.min(...parts)).toBeLessThanOrEqual(1)
    }
  })

  test('is nothing for a newcomer until all others have made room', () => {
    const newcomer = { processes: 2, rank: 1, unchangedMs: 0 }
    expect(shareOf(10, place({ ...newcomer, memberMs: processGoneMs - 1 }))).toBe(0)
    expect(shareOf(10, place({ ...newcomer, memberMs: processGoneMs }))).toBe(5)
  })

  test('is rounded down until they have been the same ones for long enough', () => {
    expect(shares(10, 3, { unchangedMs: processGoneMs - 1 })).toEqual([3, 3, 3])
    expect([...shares(10, 3)].sort((a, b) => a - b)).toEqual([3, 3, 4])
    expect(shares(2, 3, { unchangedMs: processGoneMs - 1 })).toEqual([0, 0, 0])
  })

  test('that is left over goes to other processes at other destinations', () => {
    const turns = Array.from({ length: 300 }, (_, index) =>
      shares(1, 3, { destinationId: `crm-${index}` }).indexOf(1),
    )
    for (const rank of [0, 1, 2]) {
      const count = turns.filter((turn) => turn === rank).length
      expect(count).toBeGreaterThan(60)
      expect(count).toBeLessThan(140)
    }
  })
})
