import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { createRuntime, type Timer } from '../../src/runtime/index.ts'
import { dial, post, readAll, start, trackBody, WatchedClock } from './requests.ts'

interface Reply {
  readonly status: number
  readonly body: unknown
}

const orderBody = JSON.stringify({ type: 'track', userId: 'u_1', event: 'Order Completed' })

async function sendRequest(
  url: string,
  query: Readonly<Record<string, string>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  const search = new URLSearchParams(query).toString()
  const response = await request(search === '' ? url : `${url}?${search}`, { headers })
  const text = await response.body.text()
  return { status: response.statusCode, body: JSON.parse(text) as unknown }
}

/** Resolves when a task is cancelled. */
class CancelledClock extends WatchedClock {
  #tell = (): void => undefined
  readonly cancelled = new Promise<void>((resolve) => (this.#tell = resolve))

  override schedule(delayMs: number, task: () => void): Timer {
    const timer = super.schedule(delayMs, task)
    return {
      cancel: () => {
        timer.cancel()
        this.#tell()
      },
    }
  }
}

async function startStill() {
  const clock = new WatchedClock(0)
  const { receiver, url, port } = await start({ runtime: createRuntime({ clock }) })
  return { clock, receiver, url, port, wait: `${url}/_evroute/wait` }
}

describe('GET /_evroute/wait', () => {
  test('returns the record of the next matching event', async () => {
    const { clock, url, wait } = await startStill()
    await post(`${url}/hook`, trackBody)
    const waiting = clock.scheduled(10_000)
    const asking = sendRequest(wait, { match: 'event:"Order*"', timeout: '10s' })
    await waiting
    await post(`${url}/hook`, orderBody)
    expect(await asking).toMatchObject({
      status: 200,
      body: {
        v: 1,
        kind: 'event',
        seq: 2,
        type: 'track',
        path: '/hook',
        body: { event: 'Order Completed' },
        rawBase64: Buffer.from(orderBody).toString('base64'),
        expectation: {
          text: 'event:Order*',
          state: 'met',
          matched: 1,
          account: 'expected at least 1, got 1',
        },
      },
    })
    expect(await sendRequest(wait, { match: 'type:track' })).toMatchObject({ body: { seq: 1 } })
    expect(await sendRequest(wait, { match: 'type:track', after: '1' })).toMatchObject({
      body: { seq: 2 },
    })
    expect(await sendRequest(wait, { match: 'type:track x2..' })).toMatchObject({
      body: { seq: 2 },
    })
  })

  test('answers 408 when the time ends, with the nearest event', async () => {
    const { clock, url, wait } = await startStill()
    await post(url, orderBody)
    const waiting = clock.scheduled(4_000)
    const asking = sendRequest(wait, { match: 'type:track event:Ping' })
    await waiting
    await clock.advance(4_000)
    expect(await asking).toMatchObject({
      status: 408,
      body: {
        error: {
          code: 'expectation_unmet',
          message: 'type:track event:Ping: expected at least 1, got 0',
          expectation: { state: 'unmet', matched: 0 },
          nearest: { v: 1, kind: 'event', seq: 1 },
          difference: [
            { field: 'type', holds: true },
            { field: 'event', expected: 'Ping', received: '"Order Completed"', holds: false },
          ],
        },
      },
    })
    const never = sendRequest(wait, { match: 'type:page never', timeout: '1s' })
    await clock.scheduled(1_000)
    await clock.advance(1_000)
    expect(await never).toEqual({
      status: 200,
      body: {
        v: 1,
        kind: 'expectation',
        expectation: {
          text: 'type:page never',
          state: 'met',
          matched: 0,
          account: 'expected none, got 0',
        },
      },
    })
  })

  test('answers 409 as soon as there are too many, and 408 when the receiver closes', async () => {
    const { clock, receiver, url, wait } = await startStill()
    await post(url, trackBody)
    expect(await sendRequest(wait, { match: 'type:track never' })).toMatchObject({
      status: 409,
      body: { error: { code: 'expectation_unmet', surplus: { seq: 1 } } },
    })
    const waiting = clock.scheduled(9_000)
    const asking = sendRequest(wait, { match: 'type:page', timeout: '9s' })
    await waiting
    await receiver.close()
    expect(await asking).toMatchObject({ status: 408 })
  })

  test('forgets a wait when its client disconnects', async () => {
    const clock = new CancelledClock(0)
    const { port } = await start({ runtime: createRuntime({ clock }) })
    const waiting = clock.scheduled(9_000)
    const socket = await dial(port)
    socket.write(
      `GET /_evroute/wait?match=type:page&timeout=9s HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    )
    await waiting
    socket.destroy()
    await clock.cancelled
  })

  test.each([
    [{}, 'Cannot wait: the parameter "match" is missing'],
    [
      { match: 'type:trak' },
      'Cannot read the match expression at character 6: "trak" is not a value of this field',
    ],
    [
      { match: 'type:track', timeout: '10' },
      'Cannot use "timeout": it must be a duration such as 500ms',
    ],
    [{ match: 'type:track', timeout: '30d' }, 'Cannot use timeoutMs 2592000000'],
    [{ match: 'type:track', after: '-1' }, 'Cannot use "after": it must be the seq of an event'],
    [{ match: 'type:track', time: '1s' }, 'Cannot use "time": there is no such parameter'],
  ])('answers 400 to %j', async (query, message) => {
    const { wait } = await startStill()
    const { status, body } = await sendRequest(wait, query)
    expect({ status, body }).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_setting' } },
    })
    expect((body as { error: { message: string } }).error.message).toContain(message)
  })

  test('points at the faulty character, and refuses a parameter given twice', async () => {
    const { wait } = await startStill()
    const { body } = await sendRequest(wait, { match: 'type:trak' })
    expect((body as { error: { hint: string } }).error.hint).toContain('\n  type:trak\n       ^^^^')
    expect(await sendRequest(`${wait}?match=a&match=b`)).toMatchObject({ status: 400 })
  })
})

describe('GET /_evroute/events', () => {
  test('returns the recorded events as NDJSON', async () => {
    const { url } = await startStill()
    for (const body of [
      trackBody,
      'broken',
      orderBody,
      JSON.stringify({ type: 'track', event: '\u2028' }),
    ]) {
      await post(url, body)
    }
    const read = async (query: string): Promise<readonly string[]> => {
      const response = await request(`${url}/_evroute/events${query}`)
      expect(response.headers).toMatchObject({
        'content-type': 'application/x-ndjson',
        'cache-control': 'no-store',
      })
      const lines = (await response.body.text()).split('\n')
      expect(lines.pop()).toBe('')
      return lines
    }
    const records = (await read('')).map((line) => JSON.parse(line) as object)
    expect(records).toMatchObject([
      { v: 1, seq: 1 },
      { seq: 2, type: null, code: 'invalid_json' },
      { seq: 3 },
      { seq: 4, body: { event: '\u2028' } },
    ])
    expect((await read('?after=3')).join()).toContain('"\\u2028"')
    expect(await read('?match=event:Ping&after=1')).toEqual([])
    expect(await read('?match=event:Ping')).toHaveLength(1)
  })

  test('answers 400 to a bad request and 404 to an unknown path', async () => {
    const { url } = await startStill()
    expect(await sendRequest(`${url}/_evroute/events?match=x2`)).toMatchObject({ status: 400 })
    expect(await sendRequest(`${url}/_evroute/events?timeout=1s`)).toMatchObject({ status: 400 })
    expect(await sendRequest(`${url}/_evroute/other`)).toEqual({
      status: 404,
      body: { error: { code: 'not_found', message: 'There is nothing at this path' } },
    })
  })
})

describe('the API paths', () => {
  test.each([
    [{ host: 'evil.example' }, 'host_not_allowed'],
    [{ origin: 'https://evil.example' }, 'origin_not_allowed'],
    [{ origin: 'null' }, 'origin_not_allowed'],
    [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }, 'origin_not_allowed'],
    [{ 'x-forwarded-for': '192.0.2.1' }, 'not_local'],
    [{ 'x-real-ip': '192.0.2.1' }, 'not_local'],
    [{ forwarded: 'for=192.0.2.1' }, 'not_local'],
  ])('reveal nothing to %j', async (headers, code) => {
    const { url } = await startStill()
    await post(url, trackBody)
    for (const path of ['wait?match=type:track', 'events', 'stream', 'plan']) {
      expect(
        await sendRequest(`${url}/_evroute/${path}`, {}, headers as Record<string, string>),
      ).toMatchObject({
        status: 403,
        body: { error: { code } },
      })
    }
  })

  test('are recorded as webhooks for POST, but not for GET', async () => {
    const { receiver, url } = await startStill()
    await sendRequest(`${url}/_evroute/events?match=x2`)
    await sendRequest(`${url}/_evroute/other`)
    expect(receiver.counts.received).toBe(0)
    expect(await post(`${url}/_evroute/wait`, trackBody)).toMatchObject({ status: 200 })
    await sendRequest(`${url}/_evroute`)
    expect(receiver.counts).toMatchObject({ received: 2, wellFormed: 1 })
  })

  test('survive a URL that cannot be parsed', async () => {
    const { port } = await startStill()
    const socket = await dial(port)
    socket.write('GET /_evroute/%zz?%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    expect(await readAll(socket)).toMatch(/^HTTP\/1.1 404 /)
  })
})
