import { createRequire } from 'node:module'
import { Analytics } from '@segment/analytics-node'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../src/model/index.ts'
import { byType, clientCalls, correctedTimestamp, sentCalls } from './client-calls.ts'
import { rateThatRecovers, slowWriteKey, startApi, writeKey } from './support.ts'

type Callback = (error?: Error) => void

/** The classic client, which comes without types. */
type ClassicAnalytics = Record<
  'identify' | 'track' | 'page' | 'screen' | 'group' | 'alias',
  (call: object, callback?: Callback) => void
> & { readonly flush: () => Promise<unknown> }

const require = createRequire(import.meta.url)
const Classic = require('analytics-node') as new (key: string, options: object) => ClassicAnalytics

/** A client that sends calls and returns how many requests it made. */
interface TestClient {
  readonly library: { readonly name: string; readonly version: string }
  /** Properties that the client adds to those of a page. */
  readonly pageProperties: JsonObject
  /** Sends calls, one after the other unless they fit in one batch; resolves with the errors. */
  readonly send: (
    key: string,
    host: string,
    calls: readonly (typeof clientCalls)[number][],
  ) => Promise<readonly string[]>
}

const clients: readonly (readonly [string, TestClient])[] = [
  [
    '@segment/analytics-node',
    {
      library: { name: '@segment/analytics-node', version: '3.1.0' },
      pageProperties: { category: 'Start' },
      send: async (key, host, calls) => {
        const analytics = new Analytics({ writeKey: key, host, flushAt: calls.length })
        const errors: string[] = []
        analytics.on('error', ({ code }) => errors.push(code))
        for (const { type, ...call } of structuredClone(calls)) analytics[type](call as never)
        await analytics.closeAndFlush({ timeout: 20_000 })
        return errors
      },
    },
  ],
  [
    'analytics-node',
    {
      library: { name: 'analytics-node', version: '6.2.0' },
      pageProperties: {},
      send: async (key, host, calls) => {
        const analytics = new Classic(key, { host, flushAt: 20, errorHandler: () => undefined })
        const errors: string[] = []
        const sent = calls.map(
          ({ type, ...call }) =>
            new Promise<void>((resolve) => {
              analytics[type](call, (error) => {
                if (error !== undefined) errors.push(error.message)
                resolve()
              })
            }),
        )
        await analytics.flush()
        await Promise.all(sent)
        return errors
      },
    },
  ],
]

describe.each(clients)('%s', (_name, client) => {
  test('sends calls of all types, which are stored unchanged', async () => {
    const { url, webhooks, batches, refused } = await startApi()
    expect(await client.send(writeKey, url, clientCalls)).toEqual([])
    const sent = sentCalls(batches)
    const expected = clientCalls.map((call, position) => ({
      version: 1,
      ...call,
      // `toEqual` treats values that JSON lacks as absent.
      integrations: undefined,
      ...(call.type === 'page'
        ? { properties: { ...(call['properties'] as JsonObject), ...client.pageProperties } }
        : {}),
      context: { ...(call['context'] as JsonObject | undefined), library: client.library },
      timestamp: correctedTimestamp(sent[position]!),
      messageId: sent[position]!.messageId,
    }))
    expect(byType(await webhooks())).toEqual(expected)
    expect(new Set(sent.map(({ messageId }) => messageId)).size).toBe(clientCalls.length)
    expect(refused).toEqual([])
  })

  test('retries after 503, and does not resend after 200', async () => {
    const { url, webhooks, batches, refused } = await startApi({
      accept: (batch, intake) =>
        batches.length === 1 ? Promise.reject(new Error('store is locked')) : intake.accept(batch),
    })
    expect(await client.send(writeKey, url, clientCalls.slice(0, 1))).toEqual([])
    expect(await webhooks()).toMatchObject([{ type: 'identify' }])
    expect(refused).toEqual([{ sourceId: 'website', code: 'store_unavailable' }])
    expect(batches).toHaveLength(2)
  })

  test('retries after 429 at the given time', async () => {
    const { clock, observer, codes } = rateThatRecovers()
    const { url, webhooks, batches } = await startApi({ clock, observer })
    const [, track] = clientCalls
    const batch = [track!, track!, track!]
    await client.send(slowWriteKey, url, batch)
    expect(await client.send(slowWriteKey, url, batch)).toEqual([])
    expect(await webhooks()).toHaveLength(6)
    expect(new Set(codes)).toEqual(new Set(['rate_limited']))
    expect(batches.flatMap(({ calls }) => calls)).toHaveLength(6)
  })

  test('gives up a permanently refused call immediately', async () => {
    const { url, batches, refused } = await startApi()
    const errors = await client.send('wk_unknown', url, clientCalls.slice(0, 1))
    expect(errors).toHaveLength(1)
    expect(refused).toEqual([{ sourceId: null, code: 'unknown_write_key' }])
    expect(batches).toEqual([])
  })
})
