import { createRequire } from 'node:module'
import { afterAll, beforeEach } from 'vitest'

/**
 * A browser for `@segment/analytics-next`, out of jsdom. Whoever imports this runs in that browser: the
 * globals of Node are replaced, and `fetch` is gone. Without it the client sends as old browsers do, and
 * what pages of another origin may send and read is checked then.
 */

/** Where the page is from. */
export const origin = 'https://shop.example.com'

/** What the client resolves to: the call as it is sent. */
export interface SentContext {
  readonly event: { readonly messageId: string; readonly anonymousId?: string }
}

/** Of the client as much as is used here. */
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

/** Names under which the client looks for its browser. */
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
