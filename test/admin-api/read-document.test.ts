import { describe, expect, test } from 'vitest'
import { adminFaultAnswer } from '../../src/admin-api/index.ts'
import { bodyDeadlineMs } from '../../src/http/index.ts'
import { dial, postHead, readAll, WatchedClock, writeBlanks } from '../http/raw-client.ts'
import { sendRequest, startAdmin, token } from './support.ts'

const path = '/v1/deliveries/retry'
const body = '{"all":true}'

/** The head of a retry request; the body is sent later. */
const head = (headers: readonly string[]): string =>
  postHead([`Authorization: Bearer ${token}`, ...headers], path)

/** Status and error code of a raw response. */
function readRefusal(text: string): readonly unknown[] {
  const [, status, json = ''] = /^HTTP\/1\.1 (\d+) [^]*?\r\n\r\n([^]*)$/.exec(text) ?? []
  return [Number(status), (JSON.parse(json) as { error: { code: string } }).error.code]
}

describe('a request body', () => {
  test.each([
    ['with a byte order mark', `\u{feff}${body}`, {}],
    ['with the encoding Identity', body, { 'content-encoding': 'Identity' }],
    ['with any content type', body, { 'content-type': 'application/json; charset=latin1' }],
  ])('%s is read', async (_name, text, headers) => {
    const { url } = await startAdmin()
    const answer = await sendRequest(url + path, { method: 'POST', body: text, headers })
    expect(answer).toMatchObject({ status: 200, body: { kind: 'retry' } })
  })

  test('is read in chunks', async () => {
    const { port } = await startAdmin()
    const socket = await dial(port)
    const answer = readAll(socket)
    socket.write(head(['Transfer-Encoding: chunked', 'Connection: close']))
    for (const part of ['5\r\n{"all\r\n', '7\r\n":true}\r\n', '0\r\n\r\n']) socket.write(part)
    expect(await answer).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('is refused if it arrives too slowly, and the connection closes', async () => {
    const clock = new WatchedClock(0)
    const { port } = await startAdmin({ clock })
    const begun = clock.scheduled(bodyDeadlineMs)
    const socket = await dial(port)
    const answer = readAll(socket)
    socket.write(head(['Content-Length: 100']) + body)
    await begun
    await clock.advance(bodyDeadlineMs)
    expect(readRefusal(await answer)).toEqual([408, 'body_too_slow'])
  })

  test('is not read to its end if it is too large', async () => {
    const { url, port } = await startAdmin()
    const socket = await dial(port)
    const bytes = 1_000 * 1024 * 1024
    socket.write(head([`Content-Length: ${bytes}`]))
    expect(await writeBlanks(socket, bytes)).toBeLessThan(bytes / 10)
    expect(await sendRequest(`${url}/healthz`)).toMatchObject({ status: 200 })
  })

  test('that is cut off is not logged as a failure', async () => {
    const clock = new WatchedClock(0)
    const { url, port, warnings } = await startAdmin({ clock })
    const begun = clock.scheduled(bodyDeadlineMs)
    const socket = await dial(port)
    socket.write(head(['Content-Length: 100']) + body)
    await begun
    socket.resetAndDestroy()
    expect(await sendRequest(`${url}/healthz`)).toMatchObject({ status: 200 })
    expect([warnings, clock.nextDueMs()]).toEqual([[], undefined])
  })
})

describe('an invalid request is refused:', () => {
  test.each([
    ['anything but HTTP', 'nonsense\r\n\r\n', [400, 'invalid_request']],
    ['a broken chunk', head(['Transfer-Encoding: chunked']) + 'zz\r\n', [400, 'invalid_request']],
    [
      'a head that is too large',
      head([`Cookie: ${'x'.repeat(64 * 1024)}`]),
      [431, 'invalid_request'],
    ],
  ])('%s', async (_name, text, refusal) => {
    const { port } = await startAdmin()
    const socket = await dial(port)
    const answer = readAll(socket)
    socket.write(text)
    expect(readRefusal(await answer)).toEqual(refusal)
  })

  test('a body that does not arrive in time', () => {
    const { status, body: text } = adminFaultAnswer('too_slow')
    const message = 'The request did not arrive in time'
    expect([status, JSON.parse(String(text))]).toEqual([
      408,
      { error: { code: 'body_too_slow', message } },
    ])
  })
})
