import { createRequire } from 'node:module'
import { Analytics } from '@segment/analytics-node'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/model/index.ts'
import { signBody } from '../../src/webhook/index.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { byType, clientCalls } from '../tracking-api/client-calls.ts'
import { documentFor, secret, startService, writeKey } from './running-service.ts'

/** The classic client, which comes without types. */
type ClassicAnalytics = Record<string, (call: object) => void> & {
  readonly flush: () => Promise<unknown>
}

const require = createRequire(import.meta.url)
const Classic = require('analytics-node') as new (key: string, options: object) => ClassicAnalytics

async function sendWithToday(host: string): Promise<void> {
  const analytics = new Analytics({ writeKey, host, flushAt: clientCalls.length })
  for (const { type, ...call } of structuredClone(clientCalls)) analytics[type](call as never)
  await analytics.closeAndFlush({ timeout: 20_000 })
}

async function sendWithClassic(host: string): Promise<void> {
  const analytics = new Classic(writeKey, { host, flushAt: clientCalls.length + 1 })
  for (const { type, ...call } of structuredClone(clientCalls)) analytics[type]?.(call)
  await analytics.flush()
}

/** The fields that the client adds to every call. */
const libraries = {
  '@segment/analytics-node': { version: '3.1.0' },
  'analytics-node': { version: '6.2.0' },
}

/** The whole webhook of a call, except for values that the client generates. */
function expectedOf(call: JsonObject, library: { readonly name: string }): object {
  const { type, userId, previousId, context, ...fields } = call
  const { category, properties } = call
  // The current client also adds the category of a page to its properties.
  const isCopied = category !== undefined && library.name === '@segment/analytics-node'
  const identity =
    type === 'alias'
      ? { 'Previous ID': previousId, 'User ID': userId }
      : { ...(userId === undefined ? {} : { userId }) }
  return {
    version: 1,
    type,
    ...identity,
    ...fields,
    integrations: undefined,
    properties: isCopied ? { ...(properties as JsonObject), category } : properties,
    context: { library, ...(context as JsonObject | undefined) },
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown,
    messageId: expect.stringMatching(/./) as unknown,
  }
}

test.each([
  ['@segment/analytics-node', sendWithToday],
  ['analytics-node', sendWithClassic],
] as const)('%s sends all types, and each arrives as a signed webhook', async (name, send) => {
  const endpoint = await TestEndpoint.start()
  const { service } = await startService(documentFor(endpoint))
  await send(service.address.url)
  await endpoint.received(clientCalls.length)
  const library = { name, ...libraries[name] }
  const expected = clientCalls.map((call) => expectedOf(call, library))
  expect(byType(endpoint.bodies as readonly JsonObject[])).toEqual(expected)
  for (const { headers, body } of endpoint.requests) {
    expect(headers['x-signature']).toBe(signBody(body.toString('utf8'), secret))
  }
})
