import { once } from 'node:events'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { ManualClock } from '../../src/runtime/index.ts'
import { bodyDeadlineMs, wireBytesMax } from '../../src/tracking-api/read-body.ts'
import { dial, readAll, send, startApi, writeKey } from './support.ts'

const batch = JSON.stringify({ batch: [{ type: 'track', userId: 'u', event: 'E' }], writeKey })

/** The head of a request, whose body is still to come. */
function head(headers: readonly string[], target = '/v1/batch'): string {
  return [`POST ${target} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n')
}

/** A clock that says when a body begins to be read. */
class WatchedClock extends ManualClock {
  begun: () => void = () => undefined

  override schedule(delayMs: number, task: () => void): ReturnType<ManualClock['schedule']> {
    if (delayMs === bodyDeadlineMs) this.begun()
    return super.schedule(delayMs, task)
  }
}

test('reads a body that comes in chunks, with gzip in them', async () => {
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

test('refuses a body that is too slow, and closes', async () => {
  const clock = new WatchedClock(0)
  const begun = new Promise<void>((resolve) => (clock.begun = resolve))
  const { port, webhooks } = await startApi({ clock })
  const socket = await dial(port)
  const answer = readAll(socket)
  socket.write(head(['Content-Length: 100']) + batch.slice(0, 50))
  await begun
  await clock.advance(bodyDeadlineMs)
  const text = await answer
  expect(text).toMatch(/^HTTP\/1\.1 503 /)
  expect(text).toMatch(/\r\nconnection: close\r\n/i)
  expect(text).toContain('"code":"body_too_slow"')
  expect(await webhooks()).toEqual([])
})

test('stops reading what does not end, and goes on answering others', async () => {
  const { port } = await startApi()
  const socket = await dial(port)
  const answer = readAll(socket)
  socket.write(head([`Content-Length: ${1024 * wireBytesMax}`]))
  const chunk = Buffer.alloc(64 * 1024, 0x20)
  let bytesSent = 0
  while (socket.writable && bytesSent < 1024 * wireBytesMax) {
    bytesSent += chunk.length
    if (!socket.write(chunk)) {
      await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => undefined)
    }
  }
  // Whoever goes on writing may be reset before the answer is read.
  expect(await answer).toMatch(
    /^(HTTP\/1\.1 400 [^]*connection: close[^]*"batch_too_large"[^]*)?$/i,
  )
  expect(bytesSent).toBeLessThan(64 * wireBytesMax)
  const other = await dial(port)
  const answered = readAll(other)
  other.write(head([`Content-Length: ${batch.length}`, 'Connection: close']) + batch)
  expect(await answered).toMatch(/^HTTP\/1\.1 200 /)
})

test('leaves the connection open after a body that is too large but ends', async () => {
  const { port } = await startApi()
  const socket = await dial(port)
  const answers = readAll(socket)
  const size = wireBytesMax + 1
  socket.write(head([`Content-Length: ${size}`]))
  socket.write(Buffer.alloc(size, 0x20))
  socket.write(head([`Content-Length: ${batch.length}`, 'Connection: close']) + batch)
  const text = await answers
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400', 'HTTP/1.1 200'])
})

test.each([
  ['at which there is nothing', '/nothing', 404],
  ['that takes other methods', '/v1/pixel/track', 405],
  ['with a key that is not known', '/v1/batch', 401],
])('reads the body of a request to a path %s', async (_name, target, status) => {
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

test('takes nothing of a request that was cut off', async () => {
  const clock = new WatchedClock(0)
  const { url, port, webhooks, refused } = await startApi({ clock })
  for (const headers of [['Content-Length: 1000'], ['Transfer-Encoding: chunked']]) {
    const begun = new Promise<void>((resolve) => (clock.begun = resolve))
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
