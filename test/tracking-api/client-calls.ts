import type { IntakeBatch } from '../../src/intake/index.ts'
import { formatTimestamp, type CallType, type JsonObject } from '../../src/model/index.ts'
import { nowMs } from './support.ts'

/** One call of each type, as the argument for the Node clients. */
export const clientCalls: readonly (JsonObject & { readonly type: CallType })[] = [
  {
    type: 'identify',
    userId: 'user-1',
    traits: { name: 'Jané Doe', logins: 3, tags: ['a', null] },
  },
  {
    type: 'track',
    userId: 'user-1',
    event: 'Order Completed',
    properties: { total: 39.95, currency: 'EUR' },
    context: { ip: '203.0.113.7', locale: 'de-DE' },
    integrations: { All: false, Webhooks: true },
  },
  {
    type: 'page',
    anonymousId: 'anonymous-1',
    name: 'Home',
    category: 'Start',
    properties: { url: 'https://shop.example.com/' },
  },
  { type: 'screen', userId: 'user-1', name: 'Cart', properties: { items: 2 } },
  { type: 'group', userId: 'user-1', groupId: 'group-1', traits: { name: 'Example Inc' } },
  { type: 'alias', userId: 'user-1', previousId: 'anonymous-1' },
]

/** Fields that a client added itself, and which the webhooks have, too. */
interface SentCall {
  readonly anonymousId?: string
  readonly messageId: string
  readonly timestamp: string
  /** By the client's clock. */
  readonly sentAt: string
}

/** The calls that reached intake, in the order of the types above. */
export function sentCalls(batches: readonly IntakeBatch[]): readonly SentCall[] {
  const types = clientCalls.map(({ type }) => type)
  const calls = batches.flatMap((batch) =>
    batch.calls.map((call) => ({ sentAt: batch.sentAt, ...(call as JsonObject) })),
  ) as unknown as (SentCall & { readonly type: CallType })[]
  return calls.toSorted((a, b) => types.indexOf(a.type) - types.indexOf(b.type))
}

/** Webhooks in the order of the types above. */
export function byType(webhooks: readonly JsonObject[]): readonly JsonObject[] {
  const types = clientCalls.map(({ type }) => type as unknown)
  return webhooks.toSorted((a, b) => types.indexOf(a['type']) - types.indexOf(b['type']))
}

/** The timestamp of a webhook, by the clock of the tracking API. */
export function correctedTimestamp({ timestamp, sentAt }: SentCall): string {
  return formatTimestamp(nowMs - (Date.parse(sentAt) - Date.parse(timestamp)))
}
