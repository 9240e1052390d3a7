import { createRequire } from 'node:module'
import { afterAll, beforeEach } from 'vitest'

/**
 * A jsdom browser for `@segment/analytics-next`. Importing this file replaces globals of Node with those
 * of the browser and removes `fetch`. Without `fetch` the client uses XMLHttpRequest, for which jsdom
 * enforces CORS.
 */

/** The origin of the page. */
export const origin = 'https://shop.example.com'

/** What a method of the client resolves to: the call as it was sent. */
export interface SentContext {
  readonly event: { readonly messageId: string; readonly anonymousId?: string }
}

/** The part of the client that tests use. */
export interface BrowserAnalytics {
  readonly identify: (userId: string, traits: object) => Promise<SentContext>
  readonly track: (event: string, properties: object, options?: object) => Promise<SentContext>
  readonly page: (category: string, name: string, properties: object) => Promise<SentContext>
  readonly screen: (name: string, properties: object) => Promise<SentContext>
  readonly group: (groupId: string, traits: object) => Promise<SentContext>
  readonly alias: (userId: string, previousId: string) => Promise<SentContext>
}

type Load = (settings: object, options?: object) => Promise<readonly [BrowserAnalytics, unknown]>

interface Browser {
  readonly window: object & { readonly close: () => void }
}

const require = createRequire(import.meta.url)
const { JSDOM } = require('jsdom') as {
  readonly JSDOM: new (html: string, options: object) => Browser
}

/** The globals of a browser that the client needs, apart from `window`. */
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

/** Loads the client as a page does that knows only the URL and the write key of the service. */
export async function loadAnalytics(
  url: string,
  writeKey: string,
  settings: object = {},
): Promise<BrowserAnalytics> {
  const [analytics] = await AnalyticsBrowser.load(
    { writeKey, cdnURL: url, ...settings },
    { integrations: { 'Segment.io': settings } },
  )
  return analytics
}
