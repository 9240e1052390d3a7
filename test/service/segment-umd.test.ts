import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRequire } from 'node:module'
import { expect, onTestFinished, test } from 'vitest'
import { openPage, withBrowser } from '../page/browser.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { documentFor, startService, writeKey } from './running-service.ts'

withBrowser()

/** The options that docs/sources.md recommends for the UMD file. */
const options = `{
  updateCDNSettings: (loaded) => ({
    ...loaded,
    integrations: { 'Segment.io': loaded.integrations['Segment.io'] ?? {} },
  }),
}`

test("the UMD file of @segment/analytics-next sends calls without loading anything from Segment's CDN", async () => {
  const endpoint = await TestEndpoint.start()
  const { service } = await startService(documentFor(endpoint))
  const settings = JSON.stringify({ writeKey, cdnURL: service.address.url })
  const shop = await startShop(`AnalyticsNext.AnalyticsBrowser.load(${settings}, ${options})`)
  const page = await openPage('about:blank')
  const hosts = new Set<string>()
  page.on('request', (request) => hosts.add(new URL(request.url()).hostname))
  await page.goto(shop)
  await page.evaluate(`analytics.track('Order Completed')`)
  await endpoint.received(1)
  expect(endpoint.bodies).toMatchObject([{ type: 'track', event: 'Order Completed' }])
  expect([...hosts]).toEqual(['127.0.0.1'])
})

/** Starts a web server with a page that loads the library. Returns the URL of the page. */
async function startShop(load: string): Promise<string> {
  const file = createRequire(import.meta.url).resolve('@segment/analytics-next')
  const umd = await readFile(file.replace(/dist\/.*/, 'dist/umd/index.js'))
  const html = `<!doctype html><title>Cart</title><link rel="icon" href="data:,"><script src="/umd.js"></script>
    <script>var analytics = ${load}</script>`
  const server: Server = createServer(({ url }, response) => {
    const isScript = url === '/umd.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? umd : html)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}
