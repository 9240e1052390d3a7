import { request } from 'undici'
import { describe, expect, onTestFinished, test } from 'vitest'
import { post, secret, signed, start, trackBody } from '../requests.ts'

interface Message {
  readonly id: string
  readonly event: string
  readonly data: unknown
}

/** Reads server-sent events one by one. */
async function openStream(url: string, headers: Readonly<Record<string, string>> = {}) {
  const end = new AbortController()
  onTestFinished(() => end.abort())
  const response = await request(url, { headers, signal: end.signal })
  response.body.on('error', () => undefined)
  const chunks = response.body[Symbol.asyncIterator]()
  let text = ''
  return async (): Promise<Message> => {
    while (!text.includes('\n\n')) {
      const chunk = await chunks.next()
      if (chunk.done === true) throw new Error('The stream ended')
      text += String(chunk.value)
    }
    const [message = '', ...rest] = text.split('\n\n')
    text = rest.join('\n\n')
    const fields = message.split('\n').map((line) => line.split(/: (.*)/s))
    const { id = '', event = '', data = '' } = Object.fromEntries(fields) as Record<string, string>
    return { id, event, data: JSON.parse(data) as unknown }
  }
}

describe('GET /_evroute/stream', () => {
  test('reports earlier and new requests, and resumes after the last id', async () => {
    const { url } = await start({ secret })
    await post(url, trackBody, signed(trackBody))
    const next = await openStream(`${url}/_evroute/stream`)
    expect(await next()).toMatchObject({ event: 'reset' })
    const first = await next()
    expect(first).toMatchObject({
      event: 'webhooks',
      data: { summaries: [{ seq: 1, type: 'track', userId: 'u_1', signature: 'valid' }] },
    })
    await post(url, '{', {})
    expect(await next()).toMatchObject({ data: { summaries: [{ seq: 2, code: 'invalid_json' }] } })
    const again = await openStream(`${url}/_evroute/stream`, { 'last-event-id': first.id })
    expect(await again()).toMatchObject({ event: 'webhooks', data: { summaries: [{ seq: 2 }] } })
  })

  test('reports events that were dropped', async () => {
    const { url } = await start({ eventsMax: 1 })
    for (let count = 0; count < 3; count += 1) await post(url, trackBody)
    const next = await openStream(`${url}/_evroute/stream`)
    await next()
    expect(await next()).toMatchObject({ event: 'missed', data: { from: 1, to: 2 } })
  })

  test('samples bursts: sends counts instead of summaries, except for the newest 30', async () => {
    const { url, receiver } = await start()
    const all = Array.from({ length: 120 }, (_, index) =>
      index === 9 ? '{' : trackBody.replace('u_1', `u_${index + 1}`),
    )
    for (const body of all) await post(url, body)
    const next = await openStream(`${url}/_evroute/stream?sample=true`)
    await next()
    const { id, data } = await next()
    const seqs = (from: number, to: number) =>
      receiver.events.slice(from - 1, to).map(({ seq }) => ({ seq }))
    expect(data).toMatchObject({
      crowd: [
        [1, 9, false],
        [10, 10, true],
        [11, 90, false],
      ],
      summaries: seqs(91, 120),
    })
    const headers = { 'last-event-id': id.replace('-120', '-65') }
    const again = await openStream(`${url}/_evroute/stream?sample=true`, headers)
    expect(await again()).toMatchObject({
      id,
      data: { crowd: [[66, 90, false]], summaries: seqs(91, 120) },
    })
    const whole = await openStream(`${url}/_evroute/stream`, headers)
    expect(await whole()).toMatchObject({ id, data: { summaries: seqs(66, 120) } })
    const read = await request(`${url}/_evroute/summaries?seqs=10,11,999,x`)
    expect(await read.body.json()).toMatchObject({
      keptFrom: 1,
      summaries: [
        { seq: 10, code: 'invalid_json', failed: true },
        { seq: 11, userId: 'u_11', failed: false },
      ],
    })
  })

  test('reports only matching requests, and which request is a repeat', async () => {
    const { url } = await start()
    const body = JSON.stringify({ type: 'track', userId: 'u', event: 'A', messageId: 'm-1' })
    await post(url, trackBody)
    for (let count = 0; count < 3; count += 1) await post(url, body)
    const next = await openStream(`${url}/_evroute/stream?match=event:A`)
    await next()
    expect(await next()).toMatchObject({
      data: {
        summaries: [
          { seq: 2, repeatOf: null },
          { seq: 3, repeatOf: 2 },
          { seq: 4, repeatOf: 2 },
        ],
      },
    })
  })

  test('refuses more than 32 streams at once, and accepts one again when another ends', async () => {
    const { url } = await start()
    for (let count = 0; count < 40; count += 1) {
      const { statusCode, body } = await request(`${url}/_evroute/stream?match=type:trak`)
      await body.dump()
      expect(statusCode).toBe(400)
    }
    const ends: AbortController[] = []
    const open = async (): Promise<number> => {
      const end = new AbortController()
      const { statusCode, body } = await request(`${url}/_evroute/stream`, { signal: end.signal })
      body.on('error', () => undefined)
      if (statusCode === 200) ends.push(end)
      else await body.dump()
      return statusCode
    }
    for (let count = 0; count < 32; count += 1) expect(await open()).toBe(200)
    expect(await open()).toBe(429)
    ends.pop()?.abort()
    await expect.poll(open).toBe(200)
    for (const end of ends) end.abort()
  })

  test('ends when its reader disconnects while a batch is collected', async () => {
    const { url, receiver } = await start()
    const end = new AbortController()
    const response = await request(`${url}/_evroute/stream`, { signal: end.signal })
    response.body.on('error', () => undefined)
    await post(url, trackBody)
    const chunks = response.body[Symbol.asyncIterator]()
    while (!String((await chunks.next()).value).includes('webhooks'));
    await post(url, trackBody)
    end.abort()
    // Meanwhile the receiver notices that the reader has left.
    await (await request(`${url}/healthz`)).body.dump()
    await receiver.close()
  })

  test('ends with the receiver', async () => {
    const { url, receiver } = await start()
    const next = await openStream(`${url}/_evroute/stream`)
    await next()
    await receiver.close()
    await expect(next()).rejects.toThrow('The stream ended')
  })
})

describe('GET /_evroute/event and /_evroute/match', () => {
  test('return the record of a request', async () => {
    const { url } = await start()
    await post(`${url}/hook`, trackBody)
    const answer = await request(`${url}/_evroute/event?seq=1`)
    expect(await answer.body.json()).toMatchObject({ kind: 'event', seq: 1, path: '/hook' })
    expect((await request(`${url}/_evroute/event?seq=2`)).statusCode).toBe(404)
  })

  test('report where a match cannot be parsed', async () => {
    const { url } = await start()
    const read = async (text: string): Promise<unknown> =>
      (await request(`${url}/_evroute/match`, { query: { text } })).body.json()
    expect(await read('type:track')).toEqual({ valid: true, text: 'type:track' })
    expect(await read('type:trak')).toMatchObject({ valid: false, offset: 5, length: 4 })
  })
})

describe('the files of the page', () => {
  test('are served with headers that prevent any other script from running', async () => {
    const { url } = await start()
    const { statusCode, headers, body } = await request(`${url}/_evroute/`)
    const text = await body.text()
    expect(statusCode).toBe(200)
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    })
    const [, script = ''] = /src="\.\/(assets\/[^"]+\.js)"/.exec(text) ?? []
    const answer = await request(`${url}/_evroute/${script}`)
    await answer.body.dump()
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toBe('text/javascript; charset=utf-8')
  })

  test.each([
    ['/_evroute/..%2f..%2fpackage.json', {}, 404],
    ['/_evroute/assets/', {}, 404],
    ['/_evroute/', { host: 'rebound.example.com' }, 403],
    ['/_evroute/', { origin: 'https://example.com' }, 403],
    ['/_evroute/', { 'x-forwarded-for': '192.0.2.1' }, 403],
  ])('at %s with %j are answered %i', async (path, headers, status) => {
    const { url } = await start()
    const { statusCode, body } = await request(`${url}${path}`, { headers })
    await body.dump()
    expect(statusCode).toBe(status)
  })
})
