import { describe, expect, test } from 'vitest'
import { formatDeliveryId, parseDeliveryId } from '../../../src/cli/delivery-log/delivery-id.ts'
import { filterOf, firstFilterFlag } from '../../../src/cli/delivery-log/log-flags.ts'
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
      expect(() => momentFlag(text)).toThrow('90s, 2h, 7d')
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
    expect(firstFilterFlag({ until: '2h', user: 'u_1' })).toBe('--user')
  })
})

describe('the id of a delivery', () => {
  test.each([
    ['crm/17', { destinationId: 'crm', id: 17 }],
    ['a/b/3', { destinationId: 'a/b', id: 3 }],
    ['a\nb/3', { destinationId: 'a\nb', id: 3 }],
  ])('%j is read as it is written', (text, key) => {
    expect(parseDeliveryId(text)).toEqual(key)
    expect(formatDeliveryId(key)).toBe(text)
  })

  test.each([
    '',
    'crm',
    'crm/',
    '/17',
    'crm/x',
    'crm/1.5',
    'crm/-1',
    'crm/1e3',
    `crm/${'9'.repeat(16)}`,
  ])('%j is none', (text) => {
    expect(parseDeliveryId(text)).toBeUndefined()
  })
})
