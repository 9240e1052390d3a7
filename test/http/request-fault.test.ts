import { EventEmitter, once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listen, type ListenOptions, type RequestFault } from '../../src/http/index.ts'
import { dial, postHead, readAll, writeBlanks } from './raw-client.ts'

const get = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'
/** Time enough for data written at once to arrive, even on a busy machine. */
const soon = { headersTimeoutMs: 500, requestTimeoutMs: 500 }

/** A server that answers a fault with its name. */
async function start(
  handler: RequestListener = (_request, response) => response.end('fine'),
  options: ListenOptions = {},
) {
  const faults: RequestFault[] = []
  const answerFault = (fault: RequestFault) => {
    faults.push(fault)
    return { status: 400, headers: { 'content-type': 'application/json' }, body: `"${fault}"` }
  }
  const address = { host: '127.0.0.1', port: 0 }
  const listening = await listen(handler, address, { ...options, answerFault })
  onTestFinished(() => listening.close(0))
  return { ...listening, socket: await dial(listening.port), faults }
}

/** A server whose requests wait for their answers. */
async function startWaiting(options: ListenOptions = {}) {
  const requests = new EventEmitter<{ request: [IncomingMessage, ServerResponse] }>()
  const arrived = once(requests, 'request') as Promise<[IncomingMessage, ServerResponse]>
  const handler: RequestListener = (...exchange) => requests.emit('request', ...exchange)
  return { ...(await start(handler, options)), arrived }
}

/** Returns a pattern for the whole answer to a fault. */
const answerTo = (fault: RequestFault): RegExp =>
  new RegExp(
    [
      '^HTTP/1\\.1 400 Bad Request',
      'content-type: application/json',
      '(date: \\w{3}, \\d\\d \\w{3} \\d{4} [\\d:]{8} GMT\r\n)?connection: close',
      `content-length: ${fault.length + 2}[^]*\r\n\r\n"${fault}"$`,
    ].join('\r\n'),
    'i',
  )

describe('a fault is answered and closes the connection:', () => {
  test.each<[string, RequestFault, string]>([
    ['bytes that are not HTTP', 'malformed', 'nonsense\r\n\r\n'],
    ['an unknown version', 'malformed', 'GET / HTTP/9.9\r\n\r\n'],
    ['no host', 'malformed', 'GET / HTTP/1.1\r\n\r\n'],
    [
      'two lengths',
      'malformed',
      postHead(['Content-Length: 2', 'Transfer-Encoding: chunked']) + '{}',
    ],
    ['a broken chunk', 'malformed', postHead(['Transfer-Encoding: chunked']) + 'zz\r\n'],
    ['a large head', 'head_too_large', postHead([`X-Large: ${'x'.repeat(32 * 1024)}`])],
  ])('%s', async (_name, fault, text) => {
    const { socket } = await start((request, response) =>
      request.on('end', () => response.end('fine')).resume(),
    )
    const answer = readAll(socket)
    socket.write(text)
    expect(await answer).toMatch(answerTo(fault))
  })

  test('a head that ends too early', async () => {
    const { socket } = await start()
    const answer = readAll(socket)
    socket.end('GET / HTTP/1.1\r\nHo')
    expect(await answer).toMatch(answerTo('malformed'))
  })

  test('a head that does not arrive in time', async () => {
    const { socket } = await start(undefined, soon)
    const answer = readAll(socket)
    socket.write('GET / HTTP/1.1\r\nHo')
    expect(await answer).toMatch(answerTo('too_slow'))
  })

  test('a body that does not arrive in time, if the request has no answer yet', async () => {
    const { socket } = await startWaiting(soon)
    const answer = readAll(socket)
    socket.write(postHead(['Content-Length: 2']) + '{')
    expect(await answer).toMatch(answerTo('too_slow'))
  })
})

test('a fault after a valid request is answered after it', async () => {
  const { socket, arrived } = await startWaiting()
  const answers = readAll(socket)
  socket.write(`${get}nonsense\r\n\r\n`)
  const [, response] = await arrived
  response.end('fine')
  const text = await answers
  expect(text).toMatch(/^HTTP\/1\.1 200 OK[^]*fineHTTP\/1\.1 400 Bad Request[^]*"malformed"$/)
})

test('a fault after a valid request is not answered if that request ends the connection', async () => {
  const { socket, arrived } = await startWaiting()
  const answers = readAll(socket)
  socket.write(`${get}nonsense\r\n\r\n`)
  const [, response] = await arrived
  response.setHeader('connection', 'close')
  response.end('fine')
  expect(await answers).toMatch(/^HTTP\/1\.1 200 OK[^]*\r\n\r\nfine$/)
})

test('a fault in the body of a request is answered after the earlier requests', async () => {
  const responses: ServerResponse[] = []
  const emitter = new EventEmitter<{ all: [] }>()
  const arrived = once(emitter, 'all')
  const { socket } = await start((_request, response) => {
    responses.push(response)
    if (responses.length === 3) emitter.emit('all')
  })
  const answers = readAll(socket)
  socket.write(`${get}${get}${postHead(['Transfer-Encoding: chunked'])}zz\r\n`)
  await arrived
  // The fault is found in the same turn, and could be answered in the next.
  await nextTurn()
  responses[1]?.end('second')
  responses[0]?.end('first')
  expect(await answers).toMatch(
    /^HTTP\/1\.1 200 [^]*firstHTTP\/1\.1 200 [^]*secondHTTP\/1\.1 400 [^]*"malformed"$/,
  )
})

test('a fault on a reused connection is answered', async () => {
  const { socket } = await start()
  const answers = readAll(socket)
  socket.write(get)
  await once(socket, 'data')
  socket.write('nonsense\r\n\r\n')
  expect(await answers).toMatch(/fineHTTP\/1\.1 400 Bad Request[^]*"malformed"$/)
})

test('a fault in a body whose answer was sent only closes the connection', async () => {
  const { socket, faults } = await start()
  const answers = readAll(socket)
  socket.write(postHead(['Transfer-Encoding: chunked']))
  await once(socket, 'data')
  socket.write('zz\r\n')
  expect(await answers).toMatch(/^HTTP\/1\.1 200 OK[^]*\r\n\r\nfine$/)
  expect(faults).toEqual([])
})

test('a client that only connects gets no answer', async () => {
  const { socket, faults } = await start(undefined, { headersTimeoutMs: 20 })
  expect(await readAll(socket)).toBe('')
  expect(faults).toEqual([])
})

test('a client that keeps writing can still read its answer, but not for ever', async () => {
  const { socket, port, faults } = await start()
  const bytes = 5 * 1024 * 1024
  socket.pause()
  socket.write('nonsense\r\n\r\n')
  expect(await writeBlanks(socket, bytes)).toBe(bytes)
  expect(await readAll(socket)).toMatch(answerTo('malformed'))
  const endless = await dial(port)
  endless.pause()
  endless.write('nonsense\r\n\r\n')
  expect(await writeBlanks(endless, 200 * bytes)).toBeLessThan(20 * bytes)
  expect(faults).toEqual(['malformed', 'malformed'])
})

test('a server without its own fault answers sends those of Node', async () => {
  const address = { host: '127.0.0.1', port: 0 }
  const listening = await listen((_request, response) => response.end('fine'), address)
  onTestFinished(() => listening.close(0))
  const socket = await dial(listening.port)
  const answer = readAll(socket)
  socket.write('nonsense\r\n\r\n')
  expect(await answer).toBe('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')
})
