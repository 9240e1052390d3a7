import { describe, expect, test } from 'vitest'
import { filterOf, firstFilterFlag } from '../../../src/cli/commands/deliveries.ts'
import { eventTypesFlag, momentFlag, momentMs } from '../../../src/cli/flags.ts'

describe('the flags of moments', () => {
  test('take a timestamp, or a time ago', () => {
    const nowMs = Date.UTC(2026, 10, 20, 12)
    expect(momentMs('2026-11-20', nowMs)).toBe(Date.UTC(2026, 10, 20))
    expect(momentMs('2026-11-20T10:15:00+02:00', nowMs)).toBe(Date.UTC(2026, 10, 20, 8, 15))
    expect(momentMs('2h', nowMs)).toBe(Date.UTC(2026, 10, 20, 10))
    expect(momentMs('1.5d', nowMs)).toBe(Date.UTC(2026, 10, 19))
    expect(momentMs('0s', nowMs)).toBe(nowMs)
    expect(momentFlag('90s')).toBe('90s')
    for (const text of ['yesterday', '-2h', '2', '', '2026-13-01', '99999999999999d']) {
      expect(() => momentFlag(text)).toThrow('90s, 2h or 7d')
    }
  })
})

describe('the flag of types', () => {
  test('collects types, the notification of a deletion among them', () => {
    expect(eventTypesFlag('delete', eventTypesFlag('track'))).toEqual(['track', 'delete'])
    expect(() => eventTypesFlag('Track')).toThrow('screen, group, alias, delete')
  })
})

describe('filterOf', () => {
  test('asks for nothing that no flag names', () => {
    expect(Object.values(filterOf({}, 0)).every((value) => value === undefined)).toBe(true)
    expect(firstFilterFlag({})).toBeUndefined()
    expect(firstFilterFlag({ until: '2h', userId: 'u_1' })).toBe('--user-id')
  })
})
