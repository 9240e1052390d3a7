import { describe, expect, it } from 'vitest'
import { checkKey, propertyName } from '../../src/audience/index.ts'

describe('the property of an audience', () => {
  it.each([
    ['First Time Shopper', 'first_time_shopper'],
    ['Total Revenue 180 Days', 'total_revenue_180_days'],
    ['Order Completed (Last 30 Days)', 'order_completed_last_30_days'],
    ['Order Completed Last 30days', 'order_completed_last_30days'],
    ['Last Product Viewed', 'last_product_viewed'],
    ['High-Value Users!', 'high_value_users'],
    ['highValueUsers', 'high_value_users'],
    ['HTTPErrors', 'http_errors'],
    ['  spaced  out ', 'spaced_out'],
    ['Größte Käufer', 'größte_käufer'],
    ['Gro\u0308ßte Ka\u0308ufer', 'größte_käufer'],
    ['Частые Покупатели', 'частые_покупатели'],
    ['よく買う人', 'よく買う人'],
    ['INSTANT BUYERS', 'instant_buyers'],
    ['__proto__', 'proto'],
    ['3', '3'],
  ])('named %j is %s', (name, property) => {
    expect(propertyName(name)).toBe(property)
  })

  it.each([
    'order_completed_last_30days',
    'first_time_shopper',
    'total_revenue_180_days',
    'last_product_viewed',
    'high_value_users',
  ])('named %s is unchanged', (key) => {
    expect(propertyName(key)).toBe(key)
  })

  it.each(['', '!!!', ' _ ', '🎁'])('cannot be made from %j', (name) => {
    expect(propertyName(name)).toBeUndefined()
  })
})

describe('a key', () => {
  it.each(['a', 'First Time Shopper', 'größte.käufer', '...', 'x'.repeat(255), '🎁'])(
    'may be %j',
    (key) => {
      expect(checkKey(key)).toBeUndefined()
    },
  )

  it.each([
    ['', 'The key is empty'],
    ['x'.repeat(256), 'The key has more than 255 characters'],
    ['a\nb', 'The key contains control characters'],
    ['a\ud800', 'The key contains control characters'],
    [' a', 'The key begins or ends with a space'],
    ['..', 'The key cannot be ".."'],
    ['.', 'The key cannot be "."'],
    ['email', 'The key cannot be "email": that trait holds the email address of the member'],
  ])('may not be %j', (key, problem) => {
    expect(checkKey(key)).toBe(problem)
  })
})
