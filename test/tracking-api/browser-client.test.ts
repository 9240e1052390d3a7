import { createRequire } from 'node:module'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { JsonObject } from '../../src/model/index.ts'
import { byType, clientCalls, correctedTimestamp, sentCalls } from './client-calls.ts'
import { rateThatRecovers, slowWriteKey, startApi, writeKey, type TestApi } from './support.ts'

const origin = 'https://shop.example.com'

interface Browser {
  readonly window: object & { readonly close: () => void }
}

/** Of the client as much as is used here. */
interface BrowserAnalytics {
  readonly identify: (userId: string, traits: object) => Promise<unknown>
  readonly track: (event: string, properties: object, options?: object) => Promise<unknown>
  readonly page: (category: string, name: string, properties: object) => Promise<unknown>
  readonly screen: (name: string, properties: object) => Promise<unknown>
  readonly group: (groupId: string, traits: object) => Promise<unknown>
  readonly alias: (userId: string, previousId: string) => Promise<unknown>
}

type Load = (settings: object, options?: object) => Promise<readonly [BrowserAnalytics, unknown]>

const require = createRequire(import.meta.url)
const { JSDOM } = require('jsdom') as {
  readonly JSDOM: new (html: string, options: object) => Browser
}

/**
 * Names under which the client looks for its browser. Without fetch it sends as old browsers do, and
 * what pages of another origin may send and read is checked then.
 */
const globals = ['document', 'location', 'localStorage', 'navigator', 'XMLHttpRequest']
const browser = new JSDOM('<title>Cart</title>', { url: `${origin}/cart`, pretendToBeVisual: true })
for (const name of ['window', ...globals]) {
  const value: unknown = name === 'window' ? browser.window : Reflect.get(browser.window, name)
  Object.defineProperty(globalThis, name, { value, configurable: true })
}
Reflect.deleteProperty(globalThis, 'fetch')
afterAll(() => browser.window.close())
beforeEach(() => localStorage().clear())

const { AnalyticsBrowser } = require('@segment/analytics-next') as {
  readonly AnalyticsBrowser: { readonly load: Load }
}

function localStorage(): { readonly clear: () => void } {
  return Reflect.get(browser.window, 'localStorage') as { readonly clear: () => void }
}

/** Loads the client as a page does that knows nothing but the address of the service. */
async function load({ url }: TestApi, settings: object = {}): Promise<BrowserAnalytics> {
  const [analytics] = await AnalyticsBrowser.load(
    { writeKey, cdnURL: url, ...settings },
    { integrations: { 'Segment.io': settings } },
  )
  return analytics
}

async function sendAll(analytics: BrowserAnalytics): Promise<void> {
  const [identify, track, page, screen, group, alias] = structuredClone(
    clientCalls,
  ) as unknown as readonly Readonly<Record<string, never>>[]
  await analytics.identify(identify!['userId']!, identify!['traits']!)
  const { context, integrations } = track!
  await analytics.track(track!['event']!, track!['properties']!, { context, integrations })
  await analytics.page(page!['category']!, page!['name']!, page!['properties']!)
  await analytics.screen(screen!['name']!, screen!['properties']!)
  await analytics.group(group!['groupId']!, group!['traits']!)
  await analytics.alias(alias!['userId']!, alias!['previousId']!)
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

function expectedWebhooks(api: TestApi): readonly object[] {
  const sent = sentCalls(api.batches)
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
    timestamp: correctedTimestamp(sent[position]!),
    messageId: sent[position]!.messageId,
  }))
}

describe('@segment/analytics-next', () => {
  test('sends calls of all types, and what is stored is what was sent', async () => {
    const api = await startApi()
    await sendAll(await load(api))
    expect(byType(await api.webhooks())).toEqual(expectedWebhooks(api))
    expect(api.refused).toEqual([])
  })

  test('sends them in one batch too', async () => {
    const api = await startApi()
    const config = { size: 6 }
    const deliveryStrategy = { strategy: 'batching', config }
    await sendAll(await load(api, { deliveryStrategy }))
    expect(api.batches).toHaveLength(1)
    expect(byType(await api.webhooks())).toEqual(expectedWebhooks(api))
    expect(api.refused).toEqual([])
  })

  test('sends again after 503, and not again after 200', async () => {
    const api = await startApi({
      accept: (batch, intake) =>
        api.batches.length === 1
          ? Promise.reject(new Error('store is locked'))
          : intake.accept(batch),
    })
    const analytics = await load(api)
    // By chance it waits up to five seconds before it tries again.
    const random = vi.spyOn(Math, 'random').mockReturnValue(0.1)
    await analytics.track('Ping', {})
    await api.handled(2)
    random.mockRestore()
    expect(api.refused).toEqual([{ sourceId: 'website', code: 'store_unavailable' }])
    const [first, second] = sentCalls(api.batches)
    expect(second?.messageId).toBe(first?.messageId)
    await analytics.track('Pong', {})
    expect(api.batches).toHaveLength(3)
    expect(await api.webhooks()).toMatchObject([{ event: 'Ping' }, { event: 'Pong' }])
  })

  test('comes again after 429, when it may', async () => {
    const { clock, observer, codes } = rateThatRecovers()
    const api = await startApi({ clock, observer })
    const analytics = await load(api, { writeKey: slowWriteKey, apiKey: slowWriteKey })
    const random = vi.spyOn(Math, 'random').mockReturnValue(0.1)
    for (const event of ['One', 'Two', 'Three', 'Four']) await analytics.track(event, {})
    await api.handled(4)
    random.mockRestore()
    expect(new Set(codes)).toEqual(new Set(['rate_limited']))
    expect(await api.webhooks()).toHaveLength(4)
  })
})
