import { getEventListeners } from 'node:events'
import http, { type ServerResponse } from 'node:http'
import { globalAgent } from 'node:https'
import { describe, expect, onTestFinished, test } from 'vitest'
import { encodeEnvelope } from '../../src/client/envelope.ts'
import { createHttpTransport, type Transport } from '../../src/client/index.ts'
import { evrouteVersion } from '../../src/model/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { makeCertificate } from '../support/certificates.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { unreachableUrl } from '../support/free-port.ts'
import { encodedCall, startEndpoint, startMs } from './support.ts'

const calls = [encodedCall('a', '{"messageId":"a","name":"Zoë 🎈"}'), encodedCall('b')]
const body = encodeEnvelope({ calls, sentAtMs: startMs, writeKey: 'wk_example' })
const { signal } = new AbortController()

function transportTo(endpoint: string, timeoutMs = 10_000): Transport {
  const clock = new ManualClock(startMs)
  const transport = createHttpTransport({ endpoint, writeKey: 'wk_example', timeoutMs, clock })
  onTestFinished(() => transport.close())
  return transport
}

const send = (transport: Transport, until = signal) => transport.send({ body, callCount: 2 }, until)

const brokenOff = {
  kind: 'retry',
  reason: 'The endpoint answered 200, but its answer was incomplete',
}

describe('createHttpTransport', () => {
  test('posts the bytes unchanged, with the write key as the user', async () => {
    const { url, requests } = await startEndpoint((_, response) => response.end('{"success":true}'))
    expect(await send(transportTo(`${url}?region=eu`))).toEqual({ kind: 'accepted', rejected: [] })
    expect(requests).toHaveLength(1)
    expect(requests[0]).toMatchObject({ method: 'POST', url: '/v1/batch?region=eu' })
    expect(requests[0]?.body.toString('utf8')).toBe(body)
    expect(requests[0]?.headers).toMatchObject({
      authorization: `Basic ${Buffer.from('wk_example:').toString('base64')}`,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      'user-agent': `evroute/${evrouteVersion}`,
    })
    expect(requests[0]?.headers).not.toHaveProperty('content-encoding')
    expect(requests[0]?.headers).not.toHaveProperty('accept-encoding')
  })

  test("returns the endpoint's answer", async () => {
    const { url } = await startEndpoint((_, response) => {
      response.writeHead(429, { 'retry-after': 'Fri, 02 Jan 2026 03:04:08 GMT' })
      response.end('{"code":"rate_limited","message":"Slow down"}')
    })
    expect(await send(transportTo(url))).toEqual({
      kind: 'retry',
      reason: 'The endpoint answered 429: Slow down',
      afterMs: 2_322,
    })
  })

  test("connects with the options of Node's global agent, such as certificate authorities", async () => {
    const certificate = await makeCertificate()
    const { url } = await TestEndpoint.start(200, certificate)
    expect(await send(transportTo(url))).toMatchObject({ kind: 'retry' })
    globalAgent.options.ca = certificate.cert
    onTestFinished(() => {
      delete globalAgent.options.ca
    })
    expect(await send(transportTo(url))).toMatchObject({ kind: 'accepted' })
  })

  test('sends with a replaced http.request, because tools for tests intercept requests there', async () => {
    const { url } = await startEndpoint((_, response) => response.end())
    const { request } = http
    onTestFinished(() => void (http.request = request))
    let replaced = 0
    http.request = ((...parameters: Parameters<typeof request>) => {
      replaced++
      return request(...parameters)
    }) as typeof request
    expect(await send(transportTo(url))).toMatchObject({ kind: 'accepted' })
    expect(replaced).toBe(1)
  })

  test('does not follow redirects', async () => {
    const { url, requests } = await startEndpoint((_, response) => {
      response.writeHead(307, { location: '/elsewhere' }).end()
    })
    expect(await send(transportTo(url))).toMatchObject({ kind: 'refused', code: 'http_307' })
    expect(requests).toHaveLength(1)
  })

  test('asks for a retry if there is no answer', async () => {
    const outcome = await send(transportTo(await unreachableUrl()))
    expect(outcome).toMatchObject({ kind: 'retry' })
    expect(outcome).toHaveProperty('reason', expect.stringContaining('ECONNREFUSED'))
  })

  test('describes an error of TLS in one line', async () => {
    const { url } = await startEndpoint((_, response) => response.end())
    const outcome = await send(transportTo(url.replace('http:', 'https:')))
    expect(outcome).toHaveProperty('reason', expect.stringMatching(/^.*wrong version number.*$/))
  })

  test('asks for a retry after a timeout', async () => {
    const { url } = await startEndpoint(() => undefined)
    expect(await send(transportTo(url, 20))).toEqual({
      kind: 'retry',
      reason: 'No answer within 20 ms',
    })
  })

  test('reads an answer that came in time to a program that was blocked until after the timeout', async () => {
    const timeoutMs = 500
    const { url } = await startEndpoint((_, response) => {
      response.end(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, timeoutMs))
    })
    expect(await send(transportTo(url, timeoutMs))).toMatchObject({ kind: 'accepted' })
  })

  test('asks for a retry when the connection is reset', async () => {
    const { url } = await startEndpoint((_, response) => response.destroy())
    expect(await send(transportTo(url))).toMatchObject({ kind: 'retry' })
  })

  test('asks for a retry when the endpoint switches to a different protocol', async () => {
    const { url } = await startEndpoint((_, { socket }) => {
      const head = ['HTTP/1.1 101 Switching Protocols', 'Connection: upgrade', 'Upgrade: other']
      socket?.write(`${head.join('\r\n')}\r\n\r\n`)
    })
    const reason = 'The endpoint cannot be reached: the connection was closed without an answer'
    expect(await send(transportTo(url))).toEqual({ kind: 'retry', reason })
  })

  test('aborts with its signal', async () => {
    const controller = new AbortController()
    const { url } = await startEndpoint(() => controller.abort())
    expect(await send(transportTo(url), controller.signal)).toMatchObject({ kind: 'retry' })
  })

  test('aborts all current requests with a signal, and leaves no listener on it', async () => {
    const controller = new AbortController()
    const arrived: ServerResponse[] = []
    const { url } = await startEndpoint((_, response) => {
      if (arrived.push(response) === 1) response.end()
      if (arrived.length === 3) controller.abort()
    })
    const transport = transportTo(url)
    expect(await send(transport, controller.signal)).toMatchObject({ kind: 'accepted' })
    const [first, second] = [1, 2].map(() => send(transport, controller.signal))
    const reason = expect.stringContaining('the client aborted the request') as unknown
    expect(await first).toEqual({ kind: 'retry', reason })
    expect(await second).toEqual({ kind: 'retry', reason })
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  test('sends nothing once the signal has aborted', async () => {
    const { url, requests } = await startEndpoint((_, response) => response.end())
    const transport = transportTo(url)
    expect(await send(transport, AbortSignal.abort())).toMatchObject({ kind: 'retry' })
    expect(await send(transport)).toMatchObject({ kind: 'accepted' })
    expect(requests).toHaveLength(1)
  })

  test('asks for a retry after an incomplete answer', async () => {
    const { url } = await startEndpoint((_, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('{"rejected":')
    })
    expect(await send(transportTo(url, 1_000))).toEqual(brokenOff)
  })

  test('asks for a retry if the body of a 2xx is cut off, because it may list rejected calls', async () => {
    const { url } = await startEndpoint((_, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('{"rejected":')
      setImmediate(() => response.destroy())
    })
    expect(await send(transportTo(url))).toEqual(brokenOff)
  })

  test('stops reading an answer at 1 MB', async () => {
    const chunk = Buffer.alloc(64 * 1024, ' ')
    const { url } = await startEndpoint((_, response) => {
      const write = (): void => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once('drain', write)
      }
      write()
    })
    expect(await send(transportTo(url))).toEqual(brokenOff)
  })
})
