import { createRequire } from 'node:module'
import { Analytics } from '@segment/analytics-node'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/model/index.ts'
import { signBody } from '../../src/webhook/index.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { byType, clientCalls } from '../tracking-api/client-calls.ts'
import { documentFor, secret, startService, writeKey } from './running-service.ts'

/** The classic client, which has no types of its own. */
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

/** What a webhook of each type carries of its call; what the client or the service adds is elsewhere. */
function expectedOf(call: JsonObject): object {
  const { type, userId, previousId, properties, traits } = call
  if (type === 'alias') return { type, 'User ID': userId, 'Previous ID': previousId }
  const { anonymousId, event, groupId, name } = call
  const fields = { type, userId, anonymousId, event, groupId, name, traits }
  const present = Object.entries(fields).filter(([, value]) => value !== undefined)
  return {
    ...Object.fromEntries(present),
    ...(properties === undefined
      ? {}
      : { properties: expect.objectContaining(properties as object) as unknown }),
  }
}

test.each([
  ['@segment/analytics-node', sendWithToday],
  ['analytics-node', sendWithClassic],
])('%s sends all types, and each arrives as a signed webhook', async (name, send) => {
  const endpoint = await TestEndpoint.start()
  const { service } = await startService(documentFor(endpoint))
  await send(service.address.url)
  await endpoint.received(clientCalls.length)
  const bodies = byType(endpoint.bodies as readonly JsonObject[])
  expect(bodies).toHaveLength(clientCalls.length)
  for (const [position, call] of clientCalls.entries()) {
    const body = bodies[position]!
    expect(body).toMatchObject({ version: 1, ...expectedOf(call) })
    expect(body['context']).toMatchObject({ library: { name } })
    expect(body['messageId']).toMatch(/./)
    expect(body['timestamp']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  }
  for (const { headers, body } of endpoint.requests) {
    expect(headers['x-signature']).toBe(signBody(body.toString('utf8'), secret))
  }
})
