import { once } from 'node:events'
import type { RequestListener, ServerResponse } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { inTurn, listen, type ListenOptions } from '../../src/http/index.ts'
import { gate } from '../support/gate.ts'
import { dial, readAll } from './raw-client.ts'

async function start(handler: RequestListener, options: ListenOptions = {}): Promise<number> {
  const listening = await listen(handler, { host: '127.0.0.1', port: 0 }, options)
  onTestFinished(() => listening.close(0))
  return listening.port
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`

test('one client gets all free connections', async () => {
  const port = await start((_, response) => response.end('here'), { connectionsMax: 4 })
  const last = get('/').replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
  const first = await dial(port)
  await dial(port)
  expect(await readAll(await dial(port))).toBe('')
  first.write(last)
  expect(await readAll(first)).toContain('here')
  const next = await dial(port)
  next.write(last)
  expect(await readAll(next)).toContain('here')
})

test('requests on one connection are handled one after the other', async () => {
  const responses: { path: string; response: ServerResponse }[] = []
  const arrived = gate()
  const port = await start(
    inTurn((request, response) => {
      responses.push({ path: request.url ?? '', response })
      arrived.open()
    }),
  )
  const socket = await dial(port)
  const answers = readAll(socket)
  socket.write(get('/1') + get('/2') + get('/3'))
  await arrived.opened
  const order: string[] = []
  while (order.length < 3) {
    // By now the server has received the other requests, but they wait.
    expect(responses.length).toBe(order.length + 1)
    const { path, response } = responses[order.length]!
    order.push(path)
    const closed = once(response, 'close')
    response.end(path)
    await closed
  }
  socket.end()
  expect(order).toEqual(['/1', '/2', '/3'])
  expect(await answers).toMatch(/\/1[^]*\/2[^]*\/3/)
})

test('a connection with too many waiting requests is closed', async () => {
  let handled = 0
  const port = await start(inTurn(() => handled++))
  const socket = await dial(port)
  socket.write(get('/').repeat(100))
  await readAll(socket)
  expect(handled).toBe(1)
})

test('a connection is closed if its client does not read the answer', async () => {
  const closed = gate()
  const handler: RequestListener = (_, response) => {
    response.once('close', closed.open)
    response.end(Buffer.alloc(64 * 1_024 * 1_024))
  }
  const port = await start(handler, { answerReadTimeoutMs: 50 })
  const socket = await dial(port)
  socket.pause().write(get('/'))
  await closed.opened
})
