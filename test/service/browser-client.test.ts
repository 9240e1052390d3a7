import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/model/index.ts'
import { signBody } from '../../src/webhook/index.ts'
import { loadAnalytics } from '../support/browser.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { browserWebhooks, sendInBrowser } from '../tracking-api/browser-calls.ts'
import { byType, clientCalls } from '../tracking-api/client-calls.ts'
import { documentFor, secret, startService, writeKey } from './running-service.ts'

const timestamp: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

test.each([
  ['one by one', {}],
  ['in one batch', { deliveryStrategy: { strategy: 'batching', config: { size: 6 } } }],
])('@segment/analytics-next sends all types %s, and each arrives signed', async (_, settings) => {
  const endpoint = await TestEndpoint.start()
  const { service } = await startService(
    documentFor(endpoint, { destination: { aliasKeys: 'camel' } }),
  )
  const sent = await sendInBrowser(await loadAnalytics(service.address.url, writeKey, settings))
  await endpoint.received(clientCalls.length)
  expect(byType(endpoint.bodies as readonly JsonObject[])).toEqual(
    browserWebhooks(sent.map(({ event }) => ({ ...event, timestamp }))),
  )
  for (const { headers, body } of endpoint.requests) {
    expect(headers['x-signature']).toBe(signBody(body.toString('utf8'), secret))
  }
})
