import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import type { SourceType } from '../../src/tracking-api/index.ts'
import { track } from './situations.ts'
import {
  basic,
  disabledWriteKey,
  send,
  slowWriteKey,
  startApi,
  writeKey,
  type TestApi,
} from './support.ts'

const origin = 'https://shop.example.com'

describe('the configuration that RudderStack clients load', () => {
  test.each([
    ['Basic authorization', { path: '/sourceConfig', headers: basic(`${writeKey}:`) }],
    ['the query', { path: `/sourceConfig/?p=web&v=3.31.2&writeKey=${writeKey}` }],
  ])('is returned for %s, and has no destinations of its own', async (_name, sent) => {
    const { url } = await startApi()
    const reply = await send(url, { method: 'GET', ...sent })
    expect([reply.status, reply.json]).toEqual([
      200,
      {
        source: {
          id: 'website',
          name: 'website',
          writeKey,
          enabled: true,
          config: { statsCollection: { errors: { enabled: false }, metrics: { enabled: false } } },
          destinations: [],
          dataplanes: {},
        },
      },
    ])
  })

  test.each([
    ['', 401],
    ['?writeKey=wk_unknown', 401],
    [`?writeKey=${disabledWriteKey}`, 403],
  ])('is refused for "%s" with %i', async (query, status) => {
    const { url } = await startApi()
    const reply = await send(url, { method: 'GET', path: `/sourceConfig${query}` })
    expect(reply.status).toBe(status)
  })
})

describe('the script that the classic snippet loads', () => {
  const path = '/analytics.js/v1/wk_any/analytics.min.js'

  /** The messages that a browser writes to its console. */
  async function consoleOf({ url }: TestApi, headers = {}): Promise<readonly string[]> {
    const reply = await send(url, { method: 'GET', path, headers })
    expect(reply.status).toBe(200)
    expect(reply.headers['content-type']).toBe('text/javascript; charset=utf-8')
    const lines: string[] = []
    runInNewContext(reply.bytes.toString('utf8'), {
      console: { error: (line: string) => lines.push(line) },
    })
    return lines
  }

  test('says what to load instead, and from where', async () => {
    const api = await startApi()
    expect(await consoleOf(api)).toEqual([
      'evroute has no analytics.js for the snippet. Install @segment/analytics-next, and load it ' +
        `with AnalyticsBrowser.load({ writeKey: '<write key>', cdnURL: "http://127.0.0.1:${api.port}" }).`,
    ])
  })

  test('is a single statement, whatever a proxy header contains', async () => {
    const api = await startApi({ trustedProxies: 1 })
    const lines = await consoleOf(api, { 'x-forwarded-host': '"\\");throw 1//' })
    expect(lines).toHaveLength(1)
  })
})

describe('the type of a source', () => {
  const userAgent = 'analytics-kotlin/1.19.1'
  const address = { ip: '127.0.0.1' }
  const hidden = { ip: '203.0.113.9' }
  const direct = { direct: true }
  const cases: readonly { type: SourceType; context: object; stored: object }[] = [
    { type: 'mobile', context: {}, stored: address },
    { type: 'mobile', context: hidden, stored: hidden },
    { type: 'browser', context: {}, stored: { ...address, userAgent } },
    { type: 'server', context: {}, stored: {} },
    { type: 'server', context: direct, stored: { ...direct, ...address, userAgent } },
  ]

  test.each(cases)(
    'decides which address and user agent are added: $type, with $context',
    async ({ type, context, stored }) => {
      const { url, webhooks } = await startApi({
        sourceOf: () => ({ id: 'website', enabled: true, type }),
      })
      const body = JSON.stringify({ writeKey, batch: [{ ...track, context }] })
      expect(
        (await send(url, { path: '/v1/b', headers: { 'user-agent': userAgent }, body })).status,
      ).toBe(200)
      expect((await webhooks()).map((webhook) => webhook['context'])).toEqual([stored])
    },
  )

  test('takes precedence over the Origin of a page: server', async () => {
    const { url, webhooks } = await startApi({
      sourceOf: () => ({ id: 'website', enabled: true, type: 'server' }),
    })
    const body = JSON.stringify({ writeKey, ...track })
    await send(url, { path: '/v1/t', headers: { origin, 'user-agent': userAgent }, body })
    expect((await webhooks()).map((webhook) => webhook['context'])).toEqual([{}])
  })
})

describe('Retry-After in an answer', () => {
  const batch = JSON.stringify({ batch: Array.from({ length: 9 }, () => track) })

  test('is also sent in X-RateLimit-Reset, in seconds, which older browser libraries read', async () => {
    const { url } = await startApi()
    const headers = { ...basic(slowWriteKey), origin }
    await send(url, { headers, body: batch })
    const { status, headers: answered } = await send(url, { headers, body: batch })
    expect([status, answered['retry-after'], answered['x-ratelimit-reset']]).toEqual([
      429,
      '4',
      '4',
    ])
  })

  test('is not duplicated for servers, which read that header as a point in time', async () => {
    const { url } = await startApi()
    const headers = basic(slowWriteKey)
    await send(url, { headers, body: batch })
    const { status, headers: answered } = await send(url, { headers, body: batch })
    expect([status, answered['retry-after'], answered['x-ratelimit-reset']]).toEqual([
      429,
      '4',
      undefined,
    ])
  })
})

describe('a preflight request', () => {
  test.each([
    ['true', 'true'],
    [undefined, undefined],
  ])('for a private network (%s) is answered with %s', async (requested, expected) => {
    const { url } = await startApi()
    const preflight = { origin, 'access-control-request-method': 'POST' }
    const headers = {
      ...preflight,
      ...(requested !== undefined && { 'access-control-request-private-network': requested }),
    }
    const reply = await send(url, { method: 'OPTIONS', path: '/v1/t', headers })
    expect(reply.headers['access-control-allow-private-network']).toBe(expected)
  })
})
