import { describe, expect, test } from 'vitest'
import { formatDeliveryId, parseDeliveryId } from '../../src/delivery/index.ts'

describe('the id of a delivery', () => {
  test.each([
    ['crm/17', { destinationId: 'crm', id: 17 }],
    ['a/b/3', { destinationId: 'a/b', id: 3 }],
    ['a\nb/3', { destinationId: 'a\nb', id: 3 }],
  ])('%j is parsed and formatted', (text, key) => {
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
  ])('%j is invalid', (text) => {
    expect(parseDeliveryId(text)).toBeUndefined()
  })
})
