import type { JsonObject } from '../../src/model/index.ts'
import type { Subject } from '../../src/match/index.ts'

/** Makes a verified webhook that was answered with 200, with overrides. */
export function subject(body: JsonObject | null, parts: Partial<Subject> = {}): Subject {
  return {
    body,
    signature: 'valid',
    status: 200,
    path: '/',
    bytes: 500,
    atMs: 0,
    ...parts,
  }
}

/** A track from the specification, with the revenue as a string. */
export const order: JsonObject = {
  version: 1,
  type: 'track',
  userId: 'u_1',
  event: 'Order Completed',
  properties: {
    revenue: '39.95',
    quantity: 3,
    coupon: null,
    gift: true,
    paid: 'true',
    sku: '007',
    big: '12345678901234567890',
    delta: -5,
    note: 'a, "b" * c\\d',
    empty: '',
    zip: 94107,
    products: [{ sku: 'A-1', price: 10 }, { sku: 'B-2' }],
    'a.b': { 'c d': 'deep' },
  },
  context: { ip: '10.0.0.7', page: { path: '/checkout', url: 'https://example.com/a?b=c' } },
  timestamp: '2026-01-02T03:04:05.000Z',
  messageId: 'm-1',
}

/** A group whose traits have keys with spaces. */
export const group: JsonObject = {
  version: 1,
  type: 'group',
  userId: 42,
  anonymousId: 'anon_9',
  groupId: 'g_1',
  traits: { plan: 'pro', 'Company Size': 250, name: "O'Brien" },
  context: {},
}

/** An alias with the keys of the specification. */
export const alias: JsonObject = { type: 'alias', 'Previous ID': 'anon_9', 'User ID': 'u_1' }

/** A page with a name. */
export const page: JsonObject = {
  type: 'page',
  anonymousId: 'anon_9',
  name: 'Pricing',
  category: 'Shop',
  properties: { path: '/pricing' },
  context: { bot: false },
}
