import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { lingerMs, listen, sendLingering } from '../../src/http/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { dial, postHead, readAll, readSome, WatchedClock, writeBlanks } from './raw-client.ts'

const megabyte = 1024 * 1024
const answer = /^HTTP\/1\.1 400 [^]*\r\nconnection: close\r\n[^]*\r\n\r\nno$/i

/** A server that refuses every request after its head. */
async function startRefusing(clock = new ManualClock(0)) {
  const ended: Promise<void>[] = []
  const refuse = (_request: IncomingMessage, response: ServerResponse): void => {
    ended.push(sendLingering(response, { status: 400, headers: {}, body: 'no' }, clock))
  }
  const listening = await listen(refuse, { host: '127.0.0.1', port: 0 })
  onTestFinished(() => listening.close(0))
  return { socket: await dial(listening.port), ended }
}

const lengthOf = (bytes: number): string => postHead([`Content-Length: ${bytes}`])

describe('sendLingering', () => {
  test('lets a client send its whole request before it reads the answer', async () => {
    const { socket } = await startRefusing()
    socket.pause()
    socket.write(lengthOf(5 * megabyte))
    expect(await writeBlanks(socket, 5 * megabyte)).toBe(5 * megabyte)
    expect(await readAll(socket)).toMatch(answer)
  })

  test('answers a client that reads immediately, and closes when the request has ended', async () => {
    const { socket } = await startRefusing()
    socket.write(lengthOf(5))
    expect(await readSome(socket)).toMatch(answer)
    const closed = once(socket, 'close')
    socket.write('lines')
    await closed
  })

  test('closes when a client is silent for too long', async () => {
    const clock = new WatchedClock(0)
    const { socket } = await startRefusing(clock)
    const lingers = clock.scheduled(lingerMs)
    const text = readAll(socket)
    socket.write(lengthOf(5))
    await lingers
    expect(clock.holds).toBe(1)
    await clock.advance(lingerMs)
    expect(await text).toMatch(answer)
    expect([clock.nextDueMs(), clock.holds]).toEqual([undefined, 0])
  })

  test('closes when a client never stops sending', async () => {
    const { socket } = await startRefusing()
    socket.write(lengthOf(1_000 * megabyte))
    expect(await writeBlanks(socket, 1_000 * megabyte)).toBeLessThan(100 * megabyte)
  })

  test('ends when the client disconnects', async () => {
    const { socket, ended } = await startRefusing()
    socket.write(lengthOf(5))
    await readSome(socket)
    socket.resetAndDestroy()
    await ended[0]
  })
})
