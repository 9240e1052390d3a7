import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { bodyPace, lingerMs } from '../../src/http/index.ts'
import { trackingFaultAnswer } from '../../src/tracking-api/index.ts'
import { WatchedClock, writeBlanks } from '../http/raw-client.ts'
import { refusal } from './situations.ts'
import { dial, postHead, readAll, send, startApi, writeKey } from './support.ts'

const batch = JSON.stringify({ batch: [{ type: 'track', userId: 'u', event: 'E' }], writeKey })
const megabyte = 1024 * 1024

/** The head of a request; the body is sent later. */
function head(headers: readonly string[], target = '/v1/batch'): string {
  return postHead(headers, target)
}

test('a chunked body with gzip is read', async () => {
  const { port, webhooks } = await startApi()
  const socket = await dial(port)
  const answer = readAll(socket)
  socket.write(head(['Transfer-Encoding: chunked', 'Connection: close']))
  for (const byte of gzipSync(batch)) {
    socket.write(Buffer.concat([Buffer.from('1\r\n'), Buffer.of(byte), Buffer.from('\r\n')]))
  }
  socket.write('0\r\n\r\n')
  expect(await answer).toContain('{"success":true,"accepted":1,"rejected":[]}')
  expect(await webhooks()).toHaveLength(1)
})

test('a body that arrives too slowly is refused, and the connection closes', async () => {
  const clock = new WatchedClock(0)
  const begun = clock.scheduled(bodyPace.everyMs)
  const lingers = clock.scheduled(lingerMs)
  const { port, webhooks } = await startApi({ clock })
  const socket = await dial(port)
  const answer = readAll(socket)
  socket.write(head(['Content-Length: 100']) + batch.slice(0, 50))
  await begun
  await clock.advance(bodyPace.everyMs)
  await lingers
  await clock.advance(lingerMs)
  const text = await answer
  expect(text).toMatch(/^HTTP\/1\.1 503 /)
  expect(text).toMatch(/\r\nconnection: close\r\n/i)
  expect(text).toMatch(/\r\nretry-after: 5\r\n/i)
  expect(text).toContain('"code":"body_too_slow"')
  expect(await webhooks()).toEqual([])
})

describe('a batch that is too large', () => {
  const tooLarge = 'Exceeds the payload limit: a batch may be at most 512000 bytes'

  test.each([
    ['5 MB, after which the connection goes on', 5 * megabyte, 'keep-alive'],
    ['12 MB, after which it ends', 12 * megabyte, 'close'],
  ])('is answered for a client that first sends all of %s', async (_name, bytes, connection) => {
    const { port } = await startApi()
    const socket = await dial(port)
    socket.pause()
    socket.write(head([`Content-Length: ${bytes}`]))
    expect(await writeBlanks(socket, bytes)).toBe(bytes)
    const answer = readAll(socket)
    if (connection === 'keep-alive') {
      socket.write(head([`Content-Length: ${batch.length}`, 'Connection: close']) + batch)
    }
    const text = await answer
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 400 [^]*\r\nconnection: ${connection}\r\n`, 'i'))
    expect(text).toContain(`\r\n\r\n${JSON.stringify(refusal('batch_too_large', tooLarge))}`)
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(
      connection === 'close' ? ['HTTP/1.1 400'] : ['HTTP/1.1 400', 'HTTP/1.1 200'],
    )
  })

  test('of 1 MB is answered for the HTTP clients of Node', async () => {
    const { url } = await startApi()
    const body = JSON.stringify({ batch: [], filler: 'x'.repeat(megabyte), writeKey })
    const expected = refusal('batch_too_large', tooLarge)
    const fetched = await fetch(`${url}/v1/batch`, { method: 'POST', body })
    expect([fetched.status, await fetched.json()]).toEqual([400, expected])
    const sent = await send(url, { body })
    expect([sent.status, sent.json]).toEqual([400, expected])
    const old = httpRequest(`${url}/v1/batch`, { method: 'POST' }).end(body)
    const [answer] = (await once(old, 'response')) as [IncomingMessage]
    expect([answer.statusCode, JSON.parse(String(await buffer(answer)))]).toEqual([400, expected])
  })

  test('is not read endlessly, and other requests are answered meanwhile', async () => {
    const { port } = await startApi()
    const socket = await dial(port)
    socket.write(head([`Content-Length: ${1_000 * megabyte}`]))
    expect(await writeBlanks(socket, 1_000 * megabyte)).toBeLessThan(64 * megabyte)
    const other = await dial(port)
    const answered = readAll(other)
    other.write(head([`Content-Length: ${batch.length}`, 'Connection: close']) + batch)
    expect(await answered).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('unfinished bodies', () => {
  const bytes = 515_000

  /** Opens this many connections, each of which sends all of its body except the last byte. */
  async function holdOpen(port: number, key: string, count: number): Promise<readonly Socket[]> {
    const open = async (): Promise<Socket> => {
      const socket = await dial(port)
      socket.write(head([`X-Write-Key: ${key}`, `Content-Length: ${bytes}`, 'Connection: close']))
      await writeBlanks(socket, bytes - 1)
      return socket
    }
    return Promise.all(Array.from({ length: count }, open))
  }

  test('of one client can hold half of the budget; further ones are told to retry', async () => {
    const { url, port } = await startApi()
    const sockets: Socket[] = []
    const body = batch + ' '.repeat(400_000)
    let reply = await send(url, { body })
    while (reply.status === 200 && sockets.length < 1_000) {
      sockets.push(...(await holdOpen(port, writeKey, 4)))
      reply = await send(url, { body })
    }
    expect([reply.status, reply.headers['retry-after'], reply.json]).toEqual([
      429,
      '5',
      refusal('queue_full', 'Too many requests are arriving at once'),
    ])
    for (const socket of sockets) socket.destroy()
    while (reply.status === 429) reply = await send(url, { body })
    for (let more = 0; more < 140; more++) expect((await send(url, { body })).status).toBe(200)
  })

  test('hold no budget if their write key is unknown', async () => {
    const { url, port } = await startApi()
    const sockets = await holdOpen(port, 'wk_unknown', 140)
    expect((await send(url, { body: batch })).status).toBe(200)
    const answers = sockets.map((socket) => readAll(socket))
    for (const socket of sockets) socket.write(' ')
    const statuses = (await Promise.all(answers)).map((text) => text.slice(0, 12))
    expect(new Set(statuses)).toEqual(new Set(['HTTP/1.1 401']))
  })
})

test.each([
  ['that does not exist', '/nothing', 404],
  ['that accepts other methods', '/v1/pixel/track', 405],
  ['with an unknown key', '/v1/batch', 401],
])('the body of a request to a path %s is read', async (_name, target, status) => {
  const { port } = await startApi()
  const socket = await dial(port)
  const answers = readAll(socket)
  const unknown = 'X-Write-Key: wk_unknown'
  for (const connection of ['keep-alive', 'close']) {
    const headers = [unknown, `Content-Length: ${batch.length}`, `Connection: ${connection}`]
    socket.write(head(headers, target) + batch)
  }
  const line = `HTTP/1.1 ${status}`
  expect((await answers).match(/HTTP\/1\.1 \d+/g)).toEqual([line, line])
})

test('nothing of a request that was cut off is accepted', async () => {
  const clock = new WatchedClock(0)
  const { url, port, webhooks, refused } = await startApi({ clock })
  for (const headers of [['Content-Length: 1000'], ['Transfer-Encoding: chunked']]) {
    const begun = clock.scheduled(bodyPace.everyMs)
    const socket = await dial(port)
    socket.write(head(headers) + batch)
    await begun
    socket.resetAndDestroy()
  }
  expect((await send(url, { body: batch })).status).toBe(200)
  expect(await webhooks()).toHaveLength(1)
  expect(refused).toEqual([])
  expect(clock.nextDueMs()).toBeUndefined()
})

describe('a client that waits for 100 Continue', () => {
  const expecting = ['Expect: 100-continue', 'Connection: close']

  test('gets it, and an answer to the body it then sends', async () => {
    const { port, webhooks } = await startApi()
    const socket = await dial(port)
    const answers = readAll(socket)
    socket.write(head([...expecting, `Content-Length: ${batch.length}`]))
    await once(socket, 'data')
    socket.write(batch)
    expect(await answers).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 [^]*"accepted":1/)
    expect(await webhooks()).toHaveLength(1)
  })

  test('is answered like any other if its body is too large or its expectation unknown', async () => {
    const { port } = await startApi()
    const large = await dial(port)
    const refused = readAll(large)
    large.write(head([...expecting, `Content-Length: ${megabyte}`]))
    await once(large, 'data')
    await writeBlanks(large, megabyte)
    expect(await refused).toMatch(/\r\n\r\nHTTP\/1\.1 400 [^]*"batch_too_large"/)
    const other = await dial(port)
    const answer = readAll(other)
    const headers = ['Expect: something', 'Connection: close', `Content-Length: ${batch.length}`]
    other.write(head(headers) + batch)
    expect(await answer).toMatch(/^HTTP\/1\.1 200 /)
  })
})

test('the connection can be reused after a HEAD request', async () => {
  const { port } = await startApi()
  const socket = await dial(port)
  const answers = readAll(socket)
  const length = `Content-Length: ${batch.length}`
  for (const target of ['/v1/batch', '/nothing', '/v1/pixel/track']) {
    socket.write(`HEAD ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  }
  socket.write(`HEAD /v1/batch HTTP/1.1\r\nHost: localhost\r\n${length}\r\n\r\n${batch}`)
  socket.write(head([length, 'Connection: close']) + batch)
  const statuses = [405, 404, 200, 405, 200].map((status) => `HTTP/1.1 ${status}`)
  const text = await answers
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(statuses)
  expect(text.match(/\{"success":/g)).toHaveLength(1)
})

describe('an invalid HTTP request is refused in the format that clients know:', () => {
  const malformed = refusal('invalid_request', 'The request is not valid HTTP')

  test.each([
    ['bytes that are not HTTP', 'nonsense\r\n\r\n', malformed],
    ['a request without a host', 'POST /v1/batch HTTP/1.1\r\n\r\n', malformed],
    ['a broken chunk', head(['Transfer-Encoding: chunked']) + `5\r\n{"bat\r\nzz\r\n`, malformed],
    [
      'a head that is too large',
      head([`Cookie: ${'x'.repeat(64 * 1024)}`]),
      refusal('invalid_request', 'The headers of the request are too large'),
    ],
  ])('%s', async (_name, text, expected) => {
    const { port, webhooks, refused } = await startApi()
    const socket = await dial(port)
    const answer = readAll(socket)
    socket.write(text)
    const [answered = '', body = ''] = (await answer).split('\r\n\r\n')
    expect(answered).toMatch(/^HTTP\/1\.1 400 [^]*\r\ncontent-type: application\/json\r\n/i)
    expect(answered).toMatch(/\r\nconnection: close(\r\n|$)/i)
    expect(JSON.parse(body)).toEqual(expected)
    expect([await webhooks(), refused]).toEqual([[], []])
  })

  test('a document that does not arrive in time', () => {
    const { status, headers, body } = trackingFaultAnswer('too_slow')
    const expected = refusal('body_too_slow', 'The request took too long to arrive')
    expect(headers['retry-after']).toBe('5')
    expect([status, JSON.parse(String(body))]).toEqual([503, expected])
  })
})
