import { describe, expect, test, vi } from 'vitest'
import { loadAnalytics, type BrowserAnalytics } from '../support/browser.ts'
import { browserWebhooks, sendInBrowser } from './browser-calls.ts'
import { byType, correctedTimestamp, sentCalls } from './client-calls.ts'
import { rateThatRecovers, slowWriteKey, startApi, writeKey, type TestApi } from './support.ts'

function load({ url }: TestApi, settings: object = {}): Promise<BrowserAnalytics> {
  return loadAnalytics(url, writeKey, settings)
}

function expectedWebhooks(api: TestApi): readonly object[] {
  const sent = sentCalls(api.batches)
  return browserWebhooks(sent.map((call) => ({ ...call, timestamp: correctedTimestamp(call) })))
}

describe('@segment/analytics-next', () => {
  test('sends calls of all types, which are stored unchanged', async () => {
    const api = await startApi()
    await sendInBrowser(await load(api))
    expect(byType(await api.webhooks())).toEqual(expectedWebhooks(api))
    expect(api.refused).toEqual([])
  })

  test('sends them in one batch, too', async () => {
    const api = await startApi()
    const config = { size: 6 }
    const deliveryStrategy = { strategy: 'batching', config }
    await sendInBrowser(await load(api, { deliveryStrategy }))
    expect(api.batches).toHaveLength(1)
    expect(byType(await api.webhooks())).toEqual(expectedWebhooks(api))
    expect(api.refused).toEqual([])
  })

  test('retries after 503, and does not resend after 200', async () => {
    const api = await startApi({
      accept: (batch, intake) =>
        api.batches.length === 1
          ? Promise.reject(new Error('store is locked'))
          : intake.accept(batch),
    })
    const analytics = await load(api)
    // The client waits up to five random seconds before it retries.
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

  test('retries after 429 at the given time', async () => {
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
