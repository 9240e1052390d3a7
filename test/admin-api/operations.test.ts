import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import type { ReplayOutcome, ReplayRequest } from '../../src/admin-api/index.ts'
import { failed, hourMs, nowMs } from '../cli/deliveries/stores.ts'
import { gate } from '../support/gate.ts'
import { record } from '../../src/admin-api/answer.ts'
import { sendRequest, startAdmin, token } from './support.ts'

test('a field that the schema of a record lacks is a type error', () => {
  // @ts-expect-error: the field is misspelled.
  expect(record({ kind: 'destination', id: 'crm', enabled: true, enabeld: true }).status).toBe(200)
})

describe('GET /v1/ledger and GET /v1/audit', () => {
  test('report the figures, and whether they balance', async () => {
    const { url, store } = await startAdmin({ samples: [failed, {}] })
    expect((await sendRequest(`${url}/v1/ledger`)).body).toEqual({
      v: 1,
      kind: 'ledger',
      ...(await store.ledger()),
    })
    expect((await sendRequest(`${url}/v1/audit`)).body).toEqual({
      v: 1,
      kind: 'audit',
      balanced: true,
      ...(await store.audit()),
      imbalances: [],
    })
  })
})

describe('POST /v1/replay', () => {
  async function replayed(body: object): Promise<{ requests: ReplayRequest[]; answer: unknown }> {
    const requests: ReplayRequest[] = []
    const replay = (request: ReplayRequest) => {
      requests.push(request)
      return Promise.resolve({ kind: 'replayed', events: 3, deliveries: 2, unreadable: 1 } as const)
    }
    const { url } = await startAdmin({ options: { replay } })
    const { body: answer } = await sendRequest(`${url}/v1/replay`, { method: 'POST', body })
    return { requests, answer }
  }

  test('passes on every condition, and reports the number of replayed events', async () => {
    const { requests, answer } = await replayed({
      source: 'website',
      destination: 'crm',
      since: '1h',
      until: '2026-11-20',
      type: 'track',
      event: ['Order Completed', 'Order Refunded'],
    })
    expect(requests).toEqual([
      {
        sourceId: 'website',
        destinationId: 'crm',
        sinceMs: nowMs - hourMs,
        untilMs: Date.UTC(2026, 10, 20),
        types: ['track'],
        eventNames: ['Order Completed', 'Order Refunded'],
      },
    ])
    expect(answer).toEqual({ v: 1, kind: 'replay', events: 3, deliveries: 2, unreadable: 1 })
  })

  test('replays everything only if the request says so', async () => {
    expect(await replayed({ all: true })).toMatchObject({ requests: [{}], answer: { events: 3 } })
    for (const body of [{}, { all: true, source: 'website' }, { types: ['track'] }]) {
      expect((await replayed(body)).requests).toEqual([])
    }
  })

  const knownIds = ['website', 'app']
  const counts = { events: 3, deliveries: 2, unreadable: 0 }
  test.each<[ReplayOutcome, { status: number; code: string; message: string }]>([
    [
      { kind: 'ended', ...counts },
      {
        status: 503,
        code: 'service_closing',
        message: 'The service is closing, so the replay ended early; events replayed: 3',
      },
    ],
    [
      { kind: 'running' },
      {
        status: 409,
        code: 'replay_running',
        message: 'A replay is already running; try again when it has ended',
      },
    ],
    [
      { kind: 'no_archive' },
      { status: 409, code: 'no_archive', message: 'No selected source has an archive' },
    ],
    [
      { kind: 'unknown', field: 'source', knownIds },
      {
        status: 404,
        code: 'not_found',
        message: 'There is no such source: choose from website, app',
      },
    ],
    [
      { kind: 'unknown', field: 'destination', knownIds: [] },
      { status: 404, code: 'not_found', message: 'There is no such destination: there are none' },
    ],
  ])('answers %j', async (outcome, { status, ...error }) => {
    const { url } = await startAdmin({ options: { replay: () => Promise.resolve(outcome) } })
    const answer = await sendRequest(`${url}/v1/replay`, { method: 'POST', body: { all: true } })
    expect(answer).toMatchObject({ status, body: { error } })
  })

  test('ends the replay when the client disconnects', async () => {
    const [began, ended] = [gate(), gate()]
    const replay = async (_request: ReplayRequest, signal: AbortSignal) => {
      expect(signal.aborted).toBe(false)
      signal.addEventListener('abort', ended.open)
      began.open()
      await ended.opened
      return { kind: 'ended', ...counts } as const
    }
    const { url } = await startAdmin({ options: { replay } })
    const leave = new AbortController()
    const response = request(`${url}/v1/replay`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: '{"all":true}',
      signal: leave.signal,
    })
    response.catch(() => undefined)
    await began.opened
    leave.abort()
    await ended.opened
    await expect(response).rejects.toThrow('aborted')
  })
})
