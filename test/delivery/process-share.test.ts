import { describe, expect, test } from 'vitest'
import {
  probeGraceMs,
  rateShareOf,
  processGoneMs,
  shareOf,
  type ProcessMembership,
} from '../../src/delivery/index.ts'

/** Makes a membership. By default the process is alone and has been a member for long. */
function membership(changes: Partial<ProcessMembership> = {}): ProcessMembership {
  const settled = { memberMs: processGoneMs }
  return { destinationId: 'crm', rank: 0, processes: 1, ...settled, ...changes }
}

/** Returns the shares of all processes. */
function shares(
  concurrency: number,
  processes: number,
  changes: Partial<ProcessMembership> = {},
): readonly number[] {
  return Array.from({ length: processes }, (_, rank) =>
    shareOf(concurrency, membership({ processes, rank, ...changes })),
  )
}

describe('a share of the rate', () => {
  test('is everything for a process that is alone', () => {
    expect(rateShareOf(10, membership())).toBe(1)
  })

  test.each([1, 2, 3, 10])(
    'is equal for all processes that may send, and adds up to the rate (%i)',
    (all) => {
      for (const processes of [1, 2, 3, 4, 7, 11]) {
        const senders = shares(all, processes).filter((share) => share > 0)
        expect(senders.length * rateShareOf(all, membership({ processes }))).toBeCloseTo(1)
      }
    },
  )
})

describe('a share of the concurrency', () => {
  test('is nothing before the first heartbeat', () => {
    expect(shareOf(10, undefined)).toBe(0)
  })

  test('is everything for a process that is alone, however new', () => {
    expect(shareOf(10, membership({ memberMs: 0 }))).toBe(10)
  })

  test.each([1, 2, 3, 7, 10, 1_000])('is as equal as possible, and adds up to %i', (all) => {
    for (const processes of [1, 2, 3, 4, 7, 11]) {
      const parts = shares(all, processes)
      expect(parts.reduce((sum, part) => sum + part, 0)).toBe(all)
      expect(Math.max(...parts) - Math.min(...parts)).toBeLessThanOrEqual(1)
    }
  })

  test('is nothing for a newcomer until all others have made room', () => {
    const newcomer = { processes: 2, rank: 1 }
    expect(shareOf(10, membership({ ...newcomer, memberMs: processGoneMs - 1 }))).toBe(0)
    expect(shareOf(10, membership({ ...newcomer, memberMs: processGoneMs }))).toBe(5)
  })

  test('is larger for the processes that joined first if the shares cannot be equal', () => {
    expect(shares(10, 3)).toEqual([4, 3, 3])
    expect(shares(2, 3)).toEqual([1, 1, 0])
    expect(shares(1, 3)).toEqual([1, 0, 0])
  })

  test('does not grow if more processes join, and is never larger for one that joined later', () => {
    const counts = Array.from({ length: 12 }, (_, index) => index + 1)
    for (const concurrency of counts) {
      for (const processes of counts.slice(1)) {
        const parts = shares(concurrency, processes)
        expect(parts).toEqual([...parts].sort((a, b) => b - a))
        const before = processes === 2 ? [concurrency] : shares(concurrency, processes - 1)
        for (const [rank, part] of before.entries()) expect(parts[rank]).toBeLessThanOrEqual(part)
      }
    }
  })

  test('is at least 1 for the first process, however many others there are', () => {
    for (const processes of [2, 3, 9]) expect(shares(1, processes)[0]).toBe(1)
  })
})

describe('the turn to probe', () => {
  const graces = (processes: number, rank: number, concurrency = 10): readonly number[] =>
    Array.from({ length: processes }, (_, own) =>
      probeGraceMs(concurrency, { rank: own, processes }, { rank, openMs: 30_000 }),
    )

  test('belongs to the process after the one that sent the news, and then to the next', () => {
    expect(graces(3, 0)).toEqual([12_000, 0, 6_000])
    expect(graces(3, 2)).toEqual([0, 6_000, 12_000])
    expect(graces(1, 0)).toEqual([0])
  })

  test('skips processes without a share, and comes within the open time at the latest', () => {
    expect(graces(3, 1, 2).slice(0, 2)).toEqual([0, 6_000])
    expect(Math.max(...graces(20, 0, 20))).toBe(30_000)
  })

  test('is defined even if the sender of the news counted more processes', () => {
    expect(graces(2, 4)).toEqual([6_000, 0])
  })
})
