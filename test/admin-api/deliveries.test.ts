import { describe, expect, test } from 'vitest'
import { hiddenEndpoint, formatTimestamp } from '../../src/model/index.ts'
import {
  delivered,
  expired,
  failed,
  hourMs,
  nowMs,
  retried,
  retriedWithout,
} from '../cli/deliveries/stores.ts'
import { sendRequest, startAdmin } from './support.ts'

interface Page {
  readonly deliveries: readonly { readonly id: string; readonly state: string }[]
  readonly next: number | null
}

async function pageOf(url: string, query = ''): Promise<Page> {
  const { status, body } = await sendRequest(`${url}/v1/deliveries${query}`)
  expect({ status, body }).toMatchObject({ status: 200, body: { v: 1, kind: 'deliveries' } })
  return body as Page
}

async function idsOf(url: string, query = ''): Promise<readonly string[]> {
  return (await pageOf(url, query)).deliveries.map(({ id }) => id)
}

async function retry(url: string, body: object): Promise<unknown> {
  const answer = await sendRequest(`${url}/v1/deliveries/retry`, { method: 'POST', body })
  return answer.body
}

describe('GET /v1/deliveries', () => {
  test('shows every field of a delivery, under the names that the command line uses', async () => {
    const holds = [
      { url: 'https://example.com/a', untilMs: null },
      { url: 'https://example.com/b', untilMs: nowMs + hourMs },
    ]
    const { url } = await startAdmin({ samples: [retriedWithout(holds)] })
    expect(await pageOf(url)).toEqual({
      v: 1,
      kind: 'deliveries',
      next: null,
      deliveries: [
        {
          kind: 'delivery',
          id: 'crm/1',
          messageId: 'm_1',
          type: 'track',
          eventName: null,
          userId: 'u_1',
          source: 'website',
          destination: 'crm',
          state: 'pending',
          lane: 'retry',
          attempts: 3,
          windowAttempts: 3,
          manualRetries: 0,
          reason: 'status_503',
          acceptedAt: formatTimestamp(nowMs - hourMs),
          firstAttemptAt: formatTimestamp(nowMs - hourMs),
          dueAt: formatTimestamp(nowMs + hourMs),
          expiresAt: formatTimestamp(nowMs + 3 * hourMs),
          settledAt: null,
          holds: [
            { url: hiddenEndpoint('https://example.com/a'), until: null },
            {
              url: hiddenEndpoint('https://example.com/b'),
              until: formatTimestamp(nowMs + hourMs),
            },
          ],
        },
      ],
    })
  })

  const filtered = [
    { ...delivered, userId: 'u_2', ageMs: 3 * hourMs },
    { ...failed, type: 'page' as const, destinationIds: ['mail'] },
    expired,
    { ...retried, messageId: 'm & x', destinationIds: ['crm', 'mail'] },
  ]

  test.each([
    ['', ['mail/5', 'crm/4', 'crm/3', 'mail/2', 'crm/1']],
    ['?state=failed', ['mail/2']],
    ['?state=failed&state=expired', ['crm/3', 'mail/2']],
    ['?type=page&type=alias', ['mail/2']],
    ['?user=u_2', ['crm/1']],
    ['?user=', []],
    ['?destination=mail', ['mail/5', 'mail/2']],
    ['?message=m+%26%20x', ['mail/5', 'crm/4']],
    ['?message=m%20%26%20x&destination=crm', ['crm/4']],
    ['?id=crm/4', ['crm/4']],
    ['?id=crm%2F5', []],
    ['?until=2h', ['crm/1']],
    ['?since=4h&until=2h', ['crm/1']],
    ['?since=2h', ['mail/5', 'crm/4', 'crm/3', 'mail/2']],
    [`?until=${formatTimestamp(nowMs - 3 * hourMs)}`, []],
    [`?since=${formatTimestamp(nowMs - 3 * hourMs)}&limit=1`, ['mail/5']],
    ['?before=3', ['mail/2', 'crm/1']],
  ])('selects by %s', async (query, ids) => {
    const { url } = await startAdmin({ samples: filtered })
    expect(await idsOf(url, query)).toEqual(ids)
  })

  test('returns 50 at a time, newest first, with the start of the next page', async () => {
    const { url } = await startAdmin({ samples: Array.from({ length: 101 }, () => ({})) })
    const first = await pageOf(url)
    expect(first.deliveries).toHaveLength(50)
    expect(first.deliveries[0]?.id).toBe('crm/101')
    expect(first.next).toBe(52)
    const second = await pageOf(url, `?before=${String(first.next)}&limit=51`)
    expect(second.deliveries.map(({ id }) => id)).toEqual(
      Array.from({ length: 51 }, (_, index) => `crm/${51 - index}`),
    )
    expect(second.next).toBeNull()
  })
})

describe('GET /v1/deliveries/:destination/:number', () => {
  test('shows the whole history of a delivery', async () => {
    const requests = [{ excerpt: 'upstream is down' }]
    const samples = [{ ...failed, destinationIds: ['a/b ü'], requests }]
    const { url } = await startAdmin({ samples })
    const { status, body } = await sendRequest(
      `${url}/v1/deliveries/${encodeURIComponent('a/b ü')}/1`,
    )
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        v: 1,
        kind: 'story',
        delivery: expect.objectContaining({ id: 'a/b ü/1', state: 'failed' }) as unknown,
        requests: [
          {
            url: hiddenEndpoint('https://example.com/hook'),
            lane: 'first',
            attempt: 1,
            outcome: 'retry',
            status: 503,
            error: 'status_503',
            ms: 12,
            at: formatTimestamp(nowMs - hourMs + 1_000),
            excerpt: 'upstream is down',
          },
        ],
        body: '{"version":1,"type":"track","messageId":"m_1"}',
      },
    })
  })

  test('does not find a delivery of a different destination', async () => {
    const { url } = await startAdmin({ samples: [failed] })
    expect(await sendRequest(`${url}/v1/deliveries/mail/1`)).toMatchObject({ status: 404 })
  })
})

describe('POST /v1/deliveries/retry', () => {
  test('makes a waiting delivery due now', async () => {
    const { url } = await startAdmin({ samples: [expired, expired] })
    expect(await retry(url, { id: 'crm/1' })).toEqual({
      v: 1,
      kind: 'retry',
      deliveries: 1,
      next: null,
    })
    // The delivery is due already. The id is known, so the answer is 0 instead of 404.
    expect(await retry(url, { id: 'crm/1' })).toMatchObject({ deliveries: 0 })
    const { deliveries } = await pageOf(url)
    expect(deliveries).toMatchObject([
      { id: 'crm/2', state: 'expired' },
      { id: 'crm/1', state: 'pending', lane: 'manual', dueAt: formatTimestamp(nowMs) },
    ])
  })

  test('accepts conditions with one value or a list, or `all`', async () => {
    const samples = [{ ...failed, type: 'page' as const }, failed, expired, retried, delivered]
    const { url } = await startAdmin({ samples })
    const conditions = { state: 'failed', type: ['page', 'screen'], since: '2h', user: 'u_1' }
    expect(await retry(url, conditions)).toMatchObject({ deliveries: 1 })
    expect(await idsOf(url, '?state=failed')).toEqual(['crm/2'])
    expect(await retry(url, { state: ['failed', 'expired'], until: '2h' })).toMatchObject({
      deliveries: 0,
    })
    expect(await retry(url, { all: true })).toMatchObject({ deliveries: 3 })
    expect(await retry(url, { all: true })).toMatchObject({ deliveries: 0 })
    expect(await idsOf(url, '?state=pending')).toHaveLength(4)
  })

  test('retries more deliveries than fit into one batch, up to the limit', async () => {
    const { url } = await startAdmin({ samples: Array.from({ length: 1_203 }, () => retried) })
    const first = await retry(url, { all: true, limit: 501 })
    expect(first).toMatchObject({ deliveries: 501, next: { destinationId: 'crm' } })
    const { next: after } = first as { readonly next: object }
    const rest = { deliveries: 702, next: null }
    expect(await retry(url, { state: 'pending', after })).toMatchObject(rest)
  })
})
