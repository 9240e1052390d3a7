import { EventEmitter, once } from 'node:events'
import { Agent, get, type RequestListener, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  bodyDeadlineMs,
  defaultConnectionLimits,
  lingerMs,
  listen,
  type ListenAddress,
  type Listening,
} from '../../src/http/index.ts'
import { EvrouteError } from '../../src/model/index.ts'
import { dial, postHead, readAll, readSome, writeBlanks } from './raw-client.ts'

const local: ListenAddress = { host: '127.0.0.1', port: 0 }
const longMs = 60_000

/** Starts a server that is closed when the test ends. */
async function start(handler: RequestListener, address = local): Promise<Listening> {
  const listening = await listen(handler, address)
  onTestFinished(() => listening.close(0))
  return listening
}

/** A server with one request in progress, and its response for the test to end. */
async function startWithRequest() {
  const agent = new Agent({ keepAlive: true })
  onTestFinished(() => agent.destroy())
  const responses = new EventEmitter<{ under_way: [ServerResponse] }>()
  const underWay = once(responses, 'under_way') as Promise<[ServerResponse]>
  const listening = await start((_request, response) => responses.emit('under_way', response))
  const answer = new Promise<string>((resolve, reject) => {
    const request = get(listening.url, { agent })
    request.on('response', (incoming) => void text(incoming).then(resolve, reject))
    request.on('error', reject)
  })
  // A test that cuts the request inspects the rejection later.
  answer.catch(() => undefined)
  const [response] = await underWay
  return { listening, answer, response }
}

async function refusal(address: ListenAddress): Promise<EvrouteError> {
  const error: unknown = await listen(() => undefined, address).catch((thrown: unknown) => thrown)
  if (error instanceof EvrouteError) return error
  throw new Error('It listens, or failed in another way', { cause: error })
}

describe('listen', () => {
  test('chooses a free port for 0 and answers at the returned URL', async () => {
    const { port, url } = await start((_request, response) => response.end('here'))
    expect(port).toBeGreaterThan(0)
    expect(url).toBe(`http://127.0.0.1:${port}`)
    expect(await (await fetch(url)).text()).toBe('here')
  })

  test('keeps running and warns if connections cannot be accepted', async () => {
    const warnings: unknown[] = []
    const log = { warn: (...warning: unknown[]) => void warnings.push(warning) }
    const listening = await listen((_request, response) => response.end('here'), local, { log })
    onTestFinished(() => listening.close(0))
    const { server, url } = listening
    // Node emits this event for each failed `accept`.
    const error = Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' })
    for (let failures = 0; failures < 3; failures++) server.emit('error', error)
    expect(await (await fetch(url)).text()).toBe('here')
    const warning = ['cannot accept a connection', { error: 'accept EMFILE' }]
    expect(warnings).toEqual([warning, warning, warning])
  })

  test('puts brackets around an IPv6 address', async () => {
    const { port, url } = await start((_request, response) => response.end('here'), {
      host: '::1',
      port: 0,
    })
    expect(url).toBe(`http://[::1]:${port}`)
    expect(await (await fetch(url)).text()).toBe('here')
  })

  test('reports a port in use and suggests a fix', async () => {
    const { port } = await start(() => undefined)
    const error = await refusal({ host: '127.0.0.1', port })
    expect(error).toMatchObject({
      code: 'port_in_use',
      message: `Cannot listen on port ${port}: another process is using it`,
      hint: 'Pass --port 0 for a free one.',
      cause: { code: 'EADDRINUSE' },
    })
  })

  test.each<[string, ListenAddress]>([
    ['an address of another machine', { host: '192.0.2.1', port: 0 }],
    ['a port that does not exist', { host: '127.0.0.1', port: 65_536 }],
  ])('reports that it cannot listen on %s', async (_name, address) => {
    const error = await refusal(address)
    expect(error.code).toBe('cannot_listen')
    expect(error.message).toContain(`Cannot listen on ${address.host} port ${address.port}: `)
    expect(error.hint).toContain('address of this machine')
    expect(error.cause).toBeInstanceOf(Error)
  })
})

describe('connections', () => {
  const get = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'
  const fine: RequestListener = (_request, response) => response.end('fine')

  test('stay open longer than load balancers reuse them', async () => {
    const { url } = await start(fine)
    expect((await fetch(url)).headers.get('keep-alive')).toBe('timeout=75')
  })

  test('have deadlines for a head, a body and lingering', () => {
    const { headersTimeoutMs, requestTimeoutMs } = defaultConnectionLimits
    expect(requestTimeoutMs).toBeGreaterThan(headersTimeoutMs + bodyDeadlineMs + lingerMs)
  })

  test('are closed after being idle for too long', async () => {
    const listening = await listen(fine, local, { keepAliveTimeoutMs: 20 })
    onTestFinished(() => listening.close(0))
    const idle = await dial(listening.port)
    idle.write(get)
    expect(await readAll(idle)).toMatch(/^HTTP\/1\.1 200 [^]*fine$/)
  })

  test('accept heads of 32 KB, and no larger ones', async () => {
    const { port } = await start(fine)
    for (const [bytes, status] of [
      [31 * 1024, 200],
      [32 * 1024, 431],
    ] as const) {
      const socket = await dial(port)
      socket.write(postHead([`X-Large: ${'x'.repeat(bytes)}`, 'Content-Length: 0']))
      expect(await readSome(socket)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
      socket.destroy()
    }
  })

  test('keep every header, however many there are', async () => {
    const { port } = await start(({ headers }, response) => response.end(headers.origin))
    const socket = await dial(port)
    const junk = Array.from({ length: 4_000 }, (_, index) => `a${index}:`)
    socket.write(postHead([...junk, 'Origin: https://example.com', 'Content-Length: 0']))
    expect(await readSome(socket)).toMatch(/https:\/\/example\.com$/)
    socket.destroy()
  })

  test('accept requests with an unknown expectation', async () => {
    const { port } = await start(fine)
    const socket = await dial(port)
    socket.write(postHead(['Expect: the-unexpected', 'Content-Length: 0']))
    expect(await readSome(socket)).toMatch(/^HTTP\/1\.1 200 /)
    socket.destroy()
  })
})

describe('a body that is still arriving after its answer', () => {
  const megabyte = 1024 * 1024

  test('is read to its end if that is near, and the connection stays open', async () => {
    const { port } = await start((_request, response) => response.end('fine'))
    const socket = await dial(port)
    const answers = readAll(socket)
    socket.write(postHead([`Content-Length: ${megabyte}`]))
    await once(socket, 'data')
    await writeBlanks(socket, megabyte)
    socket.write(postHead(['Content-Length: 0', 'Connection: close']))
    expect((await answers).match(/fine/g)).toHaveLength(2)
  })

  test.each(['GET', 'POST', 'OPTIONS'])('is not read endlessly from %s', async (method) => {
    const { port } = await start((_request, response) => response.end('fine'))
    const socket = await dial(port)
    const head = postHead([`Content-Length: ${200 * megabyte}`]).replace('POST', method)
    socket.write(head)
    socket.resume()
    expect(await writeBlanks(socket, 200 * megabyte)).toBeLessThan(64 * megabyte)
  })
})

describe('close', () => {
  test('tells a client with a request in progress that the connection will close', async () => {
    const { listening, answer, response } = await startWithRequest()
    const closed = listening.close(longMs)
    response.end('finished')
    await answer
    await closed
    expect(response.getHeader('connection')).toBe('close')
  })

  test('tells the same to a client that sends a new request on an open connection', async () => {
    const responses = new EventEmitter<{ under_way: [ServerResponse] }>()
    const next = () => once(responses, 'under_way') as Promise<[ServerResponse]>
    const listening = await start((_request, response) => responses.emit('under_way', response))
    const socket = await dial(listening.port)
    const answers = readAll(socket)
    const first = next()
    socket.write(postHead(['Content-Length: 0']))
    const [begun] = await first
    begun.write('begun ')
    const closed = listening.close(longMs)
    const second = next()
    socket.write(postHead(['Content-Length: 0']))
    const [late] = await second
    begun.end('first')
    late.end('last')
    expect(await answers).toMatch(/first\r\n[^]*connection: close[^]*last$/i)
    await closed
  })

  test('lets a request in progress finish, and then closes immediately', async () => {
    const { listening, answer, response } = await startWithRequest()
    const closed = listening.close(longMs)
    response.end('finished')
    expect(await answer).toBe('finished')
    await closed
    expect(listening.server.listening).toBe(false)
  })

  test('cuts off a request that does not finish within the grace period', async () => {
    const { listening, answer, response } = await startWithRequest()
    response.write('half')
    await listening.close(1)
    await expect(answer).rejects.toThrow()
  })

  test('cuts it off after a default grace period', async () => {
    const { listening, answer } = await startWithRequest()
    await listening.close()
    await expect(answer).rejects.toThrow()
  })

  test('accepts no new connections once it has begun', async () => {
    const { listening, response } = await startWithRequest()
    const closed = listening.close(longMs)
    const late = get(listening.url, { agent: new Agent() })
    const [error] = (await once(late, 'error')) as [Error]
    expect(error).toMatchObject({ code: 'ECONNREFUSED' })
    response.end()
    await closed
  })

  test('does not wait for an idle keep-alive connection', async () => {
    const { listening, answer, response } = await startWithRequest()
    response.end('finished')
    await answer
    await listening.close(longMs)
  })

  test('can be called again', async () => {
    const listening = await start(() => undefined)
    await Promise.all([listening.close(longMs), listening.close(longMs)])
    await listening.close(longMs)
  })
})
