import { describe, expect, test } from 'vitest'
import { filterOf, firstFilterFlag } from '../../../src/cli/commands/deliveries.ts'
import { eventTypesFlag, momentFlag } from '../../../src/cli/flags.ts'
import { systemClock } from '../../../src/runtime/index.ts'

describe('flags of times', () => {
  test('take a timestamp, or a time ago', () => {
    expect(momentFlag('2026-11-20')).toBe(Date.UTC(2026, 10, 20))
    expect(momentFlag('2026-11-20T10:15:00+02:00')).toBe(Date.UTC(2026, 10, 20, 8, 15))
    for (const [text, agoMs] of Object.entries({ '2h': 7_200_000, '1.5d': 129_600_000, '0s': 0 })) {
      const beforeMs = systemClock.nowMs()
      const instantMs = momentFlag(text)
      expect(instantMs).toBeGreaterThanOrEqual(beforeMs - agoMs)
      expect(instantMs).toBeLessThanOrEqual(systemClock.nowMs() - agoMs)
    }
    for (const text of ['yesterday', '-2h', '2', '', '2026-13-01', '99999999999999d']) {
      expect(() => momentFlag(text)).toThrow('90s, 2h or 7d')
    }
  })
})

describe('flags of types', () => {
  test('collect types, including that of deletion notifications', () => {
    expect(eventTypesFlag('delete', eventTypesFlag('track'))).toEqual(['track', 'delete'])
    expect(() => eventTypesFlag('Track')).toThrow('screen, group, alias, delete')
  })
})

describe('filterOf', () => {
  test('filters only by the given flags', () => {
    expect(Object.values(filterOf({})).every((value) => value === undefined)).toBe(true)
    expect(firstFilterFlag({})).toBeUndefined()
    expect(firstFilterFlag({ untilMs: 0, userId: 'u_1' })).toBe('--user-id')
  })
})
