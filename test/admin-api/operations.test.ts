import { describe, expect, test } from 'vitest'
import type { DestinationState, ReplayRequest } from '../../src/admin-api/index.ts'
import { emptyLedger, formatTimestamp } from '../../src/model/index.ts'
import { failed, hourMs, nowMs } from '../cli/delivery-log/stores.ts'
import { ask, startAdmin } from './support.ts'

describe('GET /v1/destinations', () => {
  test('tells how each stands, and nothing that is secret', async () => {
    const secretive = {
      id: 'crm',
      enabled: true,
      sourceIds: ['website'],
      endpoints: [
        {
          url: 'https://example.com/a',
          breaker: 'open',
          probeAtMs: nowMs + 30_000,
          headers: { 'X-Key': 'not-a-real-secret' },
        },
        { url: 'https://example.com/b', breaker: 'closed', probeAtMs: null },
      ],
      ledger: { ...emptyLedger, deliveries: 4, delivered: 1, failed: 1, expired: 1, pending: 1 },
      sharedSecret: 'not-a-real-secret',
    } as const
    const destinations = (): Promise<DestinationState[]> => Promise.resolve([secretive])
    const { url } = await startAdmin({ options: { destinations } })
    const { status, body, text } = await ask(`${url}/v1/destinations`)
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        v: 1,
        kind: 'destinations',
        destinations: [
          {
            id: 'crm',
            enabled: true,
            sources: ['website'],
            endpoints: [
              {
                url: 'https://example.com/a',
                breaker: 'open',
                probeAt: formatTimestamp(nowMs + 30_000),
              },
              { url: 'https://example.com/b', breaker: 'closed', probeAt: null },
            ],
            deliveries: 4,
            delivered: 1,
            failed: 1,
            expired: 1,
            pending: 1,
          },
        ],
      },
    })
    expect(text).not.toContain('secret')
  })
})

describe('the books', () => {
  test('are told, and whether they balance', async () => {
    const { url, store } = await startAdmin({ samples: [failed, {}] })
    expect((await ask(`${url}/v1/ledger`)).body).toEqual({
      v: 1,
      kind: 'ledger',
      ...(await store.ledger()),
    })
    expect((await ask(`${url}/v1/audit`)).body).toEqual({
      v: 1,
      kind: 'audit',
      balanced: true,
      ...(await store.audit()),
      imbalances: [],
    })
  })
})

describe('POST /v1/replay', () => {
  async function replayed(body: object): Promise<{ asked: ReplayRequest[]; answer: unknown }> {
    const asked: ReplayRequest[] = []
    const replay = (request: ReplayRequest) => {
      asked.push(request)
      return Promise.resolve({ events: 3, deliveries: 2 })
    }
    const { url } = await startAdmin({ options: { replay } })
    const { body: answer } = await ask(`${url}/v1/replay`, { method: 'POST', body })
    return { asked, answer }
  }

  test('hands every condition over, and tells how many it was', async () => {
    const { asked, answer } = await replayed({
      source: 'website',
      destination: 'crm',
      since: '1h',
      until: '2026-11-20',
      type: 'track',
      event: ['Order Completed', 'Order Refunded'],
    })
    expect(asked).toEqual([
      {
        sourceId: 'website',
        destinationId: 'crm',
        sinceMs: nowMs - hourMs,
        untilMs: Date.UTC(2026, 10, 20),
        types: ['track'],
        eventNames: ['Order Completed', 'Order Refunded'],
      },
    ])
    expect(answer).toEqual({ v: 1, kind: 'replay', events: 3, deliveries: 2 })
  })

  test('takes everything only when that is said', async () => {
    expect(await replayed({ all: true })).toMatchObject({ asked: [{}], answer: { events: 3 } })
    for (const body of [{}, { all: true, source: 'website' }, { types: ['track'] }]) {
      expect((await replayed(body)).asked).toEqual([])
    }
  })
})
