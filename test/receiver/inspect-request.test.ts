import { gzipSync } from 'node:zlib'
import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { bodyDeadlineMs } from '../../src/http/index.ts'
import { limits } from '../../src/model/index.ts'
import { createRuntime } from '../../src/runtime/index.ts'
import {
  dial,
  nextEvent,
  post,
  rawPost,
  readAll,
  secret,
  signed,
  start,
  trackBody,
  WatchedClock,
} from './requests.ts'

describe('a webhook', () => {
  test('is answered and recorded with everything that arrived', async () => {
    const { receiver, url } = await start({ secret })
    const reply = await post(`${url}/hooks/a?team=growth`, trackBody, {
      ...signed(trackBody),
      'content-type': 'application/json',
      'X-Team': 'growth',
    })
    expect(reply.status).toBe(200)
    expect(reply.body).toEqual({ ok: true })
    expect(reply.headers['content-type']).toBe('application/json')
    const [event] = receiver.events
    expect(event).toMatchObject({
      seq: 1,
      method: 'POST',
      path: '/hooks/a?team=growth',
      kind: 'webhook',
      type: 'track',
      userId: 'u_1',
      body: JSON.parse(trackBody) as object,
      code: null,
      signature: 'valid',
      reason: null,
      status: 200,
      bytes: trackBody.length,
    })
    expect(event?.headers['x-team']).toBe('growth')
    expect(event?.rawBody.toString()).toBe(trackBody)
    expect(Object.isFrozen(event)).toBe(true)
  })

  test('is numbered without gaps when 200 arrive at once, and announced in that order', async () => {
    const { receiver, url } = await start()
    const notified: number[] = []
    receiver.on('event', ({ seq }) => notified.push(seq))
    await Promise.all(Array.from({ length: 200 }, () => post(url, trackBody)))
    const all = Array.from({ length: 200 }, (_, index) => index + 1)
    expect(notified).toEqual(all)
    expect(receiver.events.map(({ seq }) => seq)).toEqual(all)
  })

  test('needs no content type', async () => {
    const { receiver, port } = await start({ secret })
    const socket = await dial(port)
    const signature = `X-Signature: ${signed(trackBody)['x-signature'] ?? ''}`
    socket.write(rawPost('/', trackBody, [signature]))
    expect(await readAll(socket)).toMatch(/^HTTP\/1.1 200 /)
    expect(receiver.events[0]).toMatchObject({ kind: 'webhook', signature: 'valid' })
  })

  test.each([
    ['the content type of a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['a wrong Content-Encoding', { 'content-encoding': 'gzip' }],
    ['an unknown Content-Encoding', { 'content-encoding': 'mystery' }],
  ])('is read with %s', async (_name, headers) => {
    const { receiver, url } = await start()
    expect((await post(url, trackBody, headers)).status).toBe(200)
    expect(receiver.events[0]?.rawBody.toString()).toBe(trackBody)
  })

  test('that is compressed is recorded and verified as it arrived, and does not count as a webhook', async () => {
    const { receiver, url } = await start({ secret })
    const body = gzipSync(trackBody)
    const reply = await post(url, body, { ...signed(body), 'content-encoding': 'gzip' })
    expect(reply.status).toBe(400)
    expect(receiver.events[0]).toMatchObject({ code: 'invalid_json', signature: 'valid' })
    expect(receiver.events[0]?.rawBody.equals(body)).toBe(true)
  })

  test('accepts the user id of an alias in either spelling', async () => {
    const { receiver, url } = await start()
    await post(url, '{"type":"alias","Previous ID":"a","User ID":"u_1"}')
    await post(url, '{"type":"alias","previousId":"a","userId":"u_2"}')
    await post(url, '{"type":"page","anonymousId":"a"}')
    expect(receiver.events.map(({ userId }) => userId)).toEqual(['u_1', 'u_2', null])
  })
})

describe('a request that is not a webhook', () => {
  test('is answered 400 with the reason, and recorded as such', async () => {
    const { receiver, url } = await start({ respond: 503 })
    const reply = await post(url, '{"type":"track","userId":"u_1"}')
    const message = 'A track call needs an event name'
    expect(reply).toMatchObject({ status: 400, body: { error: { code: 'no_event', message } } })
    expect(receiver.events[0]).toMatchObject({
      kind: 'malformed',
      type: null,
      userId: null,
      body: null,
      code: 'no_event',
      reason: message,
      status: 400,
    })
    expect(receiver.counts).toMatchObject({ received: 1, wellFormed: 0, malformed: 1 })
  })

  test('is one with a method other than POST', async () => {
    const { receiver, url } = await start({ secret, strict: true })
    const response = await request(url, { method: 'PUT', body: trackBody })
    expect(response.statusCode).toBe(405)
    expect(response.headers['allow']).toBe('POST')
    expect(await response.body.json()).toMatchObject({ error: { code: 'method_not_allowed' } })
    expect(receiver.events[0]).toMatchObject({ method: 'PUT', signature: 'unchecked', status: 405 })
  })

  test('is one with a body over 1 MB, while 1 MB is read', async () => {
    const { receiver, url } = await start({ secret, strict: true })
    const bodyOf = (bytes: number): string => {
      const frame = '{"type":"page","name":""}'
      return frame.replace('""', `"${'x'.repeat(bytes - frame.length)}"`)
    }
    const largest = bodyOf(limits.webhookBytesMax)
    expect((await post(url, largest, signed(largest))).status).toBe(200)
    const tooLarge = bodyOf(limits.webhookBytesMax + 1)
    expect(await post(url, tooLarge, signed(tooLarge))).toMatchObject({
      status: 413,
      body: { error: { code: 'body_too_large' } },
    })
    expect(receiver.events[1]).toMatchObject({
      kind: 'malformed',
      code: 'body_too_large',
      bytes: limits.webhookBytesMax,
      signature: 'unchecked',
    })
  })

  test('is one with an endless body, which is not read to its end', async () => {
    const { receiver, port, url } = await start()
    const socket = await dial(port)
    socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n')
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`
    const write = (): void => {
      while (socket.writable && socket.write(chunk));
    }
    socket.on('drain', write)
    const received = nextEvent(receiver)
    const answering = readAll(socket)
    write()
    expect(await received).toMatchObject({ code: 'body_too_large', status: 413 })
    await answering
    expect((await post(url, trackBody)).status).toBe(200)
  })

  test('is one whose body takes more than 30 s', async () => {
    const clock = new WatchedClock(0)
    const { receiver, port } = await start({ runtime: createRuntime({ clock }) })
    const reading = clock.scheduled(bodyDeadlineMs)
    const socket = await dial(port)
    const answering = readAll(socket)
    socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{"ty')
    await reading
    await clock.advance(bodyDeadlineMs)
    expect(await answering).toMatch(/^HTTP\/1.1 408 [^]*"body_too_slow"/)
    expect(receiver.events[0]).toMatchObject({ code: 'body_too_slow', durationMs: bodyDeadlineMs })
  })

  test.each([
    ['a body whose sender disconnects', 'Content-Length: 10', '{"ty'],
    ['a broken chunk', 'Transfer-Encoding: chunked', '4\r\n{"ty\r\nzz\r\n'],
  ])('is one with %s', async (_name, framing, part) => {
    const { receiver, port, url } = await start({ secret })
    const received = nextEvent(receiver)
    const socket = await dial(port)
    socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\n${framing}\r\n\r\n${part}`)
    socket.end()
    expect(await received).toMatchObject({
      code: 'incomplete_body',
      reason: expect.stringMatching(/^The body was cut off after \d bytes$/) as string,
      signature: 'unchecked',
      status: 400,
    })
    expect((await post(url, trackBody)).status).toBe(200)
  })

  test('is not recorded if it is not HTTP at all', async () => {
    const { receiver, port, url } = await start()
    const socket = await dial(port)
    socket.write('nonsense\r\n\r\n')
    expect(await readAll(socket)).toMatch(/^HTTP\/1.1 400 /)
    expect((await post(url, trackBody)).status).toBe(200)
    expect(receiver.counts.received).toBe(1)
  })
})

test.each([
  [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }, 'foreign_origin'],
  [{ host: 'shop.example.com' }, 'foreign_origin'],
  [{ 'sec-fetch-site': 'none' }, null],
  [{}, null],
])('a GET or a HEAD with %j is withheld as %s', async (headers, withheld) => {
  const { url, receiver } = await start()
  for (const method of ['GET', 'HEAD']) await (await request(url, { method, headers })).body.dump()
  expect(receiver.events).toMatchObject([{ withheld }, { withheld }])
})
