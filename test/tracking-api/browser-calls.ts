import { expect } from 'vitest'
import type { JsonObject } from '../../src/model/index.ts'
import { origin, type BrowserAnalytics, type SentContext } from '../support/browser.ts'
import { clientCalls } from './client-calls.ts'

/** Makes all calls in a browser, and tells what became of them there. */
export async function sendInBrowser(analytics: BrowserAnalytics): Promise<readonly SentContext[]> {
  const [identify, track, page, screen, group, alias] = structuredClone(
    clientCalls,
  ) as unknown as readonly Readonly<Record<string, never>>[]
  const { context, integrations } = track!
  return [
    await analytics.identify(identify!['userId']!, identify!['traits']!),
    await analytics.track(track!['event']!, track!['properties']!, { context, integrations }),
    await analytics.page(page!['category']!, page!['name']!, page!['properties']!),
    await analytics.screen(screen!['name']!, screen!['properties']!),
    await analytics.group(group!['groupId']!, group!['traits']!),
    await analytics.alias(alias!['userId']!, alias!['previousId']!),
  ]
}

/** What the client adds to every call. */
const context = {
  page: { path: '/cart', referrer: '', search: '', title: 'Cart', url: `${origin}/cart` },
  userAgent: expect.stringContaining('jsdom') as unknown,
  locale: 'en-US',
  library: { name: 'analytics.js', version: 'npm:next-1.84.3' },
  timezone: expect.any(String) as unknown,
  ip: '127.0.0.1',
}

/** What the webhooks of those calls are, by what the client made up for each. */
export function browserWebhooks(
  sent: readonly {
    readonly messageId: string
    readonly anonymousId?: string
    readonly timestamp: unknown
  }[],
): readonly object[] {
  return clientCalls.map((call, position) => ({
    version: 1,
    ...call,
    integrations: undefined,
    userId: 'user-1',
    // It is made by the client, and the same in all calls; alias has none in its webhook.
    anonymousId: call.type === 'alias' ? undefined : sent[0]!.anonymousId,
    ...(call.type === 'page'
      ? {
          properties: {
            ...context.page,
            ...(call['properties'] as JsonObject),
            category: 'Start',
            name: 'Home',
          },
        }
      : {}),
    context: {
      ...context,
      ...(call['context'] as JsonObject | undefined),
      // What a page call says of its page counts in its context too.
      ...(call.type === 'page' ? { page: { ...context.page, url: `${origin}/` } } : {}),
    },
    timestamp: sent[position]!.timestamp,
    messageId: sent[position]!.messageId,
  }))
}
