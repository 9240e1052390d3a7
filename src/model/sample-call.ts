import type { CallType } from './call.ts'
import type { EventType } from './event.ts'
import type { JsonObject } from './json.ts'

/** A call of each type, as a small shop would record it. Sending adds messageIds and timestamps. */
const samples: Readonly<Record<CallType, JsonObject>> = {
  identify: {
    userId: 'u_sample',
    traits: { name: 'Ada Example', email: 'ada@example.com', plan: 'free', logins: 5 },
  },
  track: {
    userId: 'u_sample',
    event: 'Order Completed',
    properties: { order_id: 'o_1001', revenue: '39.95', currency: 'USD' },
  },
  page: {
    userId: 'u_sample',
    name: 'Pricing',
    properties: {
      path: '/pricing',
      referrer: 'https://search.example.com/',
      title: 'Pricing',
      url: 'https://shop.example.com/pricing',
    },
  },
  screen: {
    userId: 'u_sample',
    name: 'Basket',
    context: {
      device: { model: 'Example Phone 3', type: 'android' },
      os: { name: 'Android', version: '16' },
      app: { build: '120', name: 'Example Shop', version: '4.2.0' },
    },
  },
  group: {
    userId: 'u_sample',
    groupId: 'g_sample',
    traits: { name: 'Example Ltd', employees: 42, 'billing country': 'NZ' },
  },
  alias: { previousId: 'anonymous_sample', userId: 'u_sample' },
}

/** Returns a sample call; for `delete`, a request to delete the user of the other samples. */
export function sampleCall(type: EventType): JsonObject {
  return type === 'delete' ? { type, userId: 'u_sample' } : { type, ...samples[type] }
}
