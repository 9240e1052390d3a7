import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { injectFault } from '../../../src/receiver/faults/inject-fault.ts'
import { systemClock } from '../../../src/runtime/index.ts'
import { dial, rawPost, readAll, start } from '../requests.ts'

const turnsOfStandstill = 10_000
const bufferedBytesMax = 1024 * 1024

test('endless buffers almost nothing for a sender that does not read', async () => {
  const end = new AbortController()
  const server = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const socket = await dial((server.address() as AddressInfo).port)
  socket.pause().write(rawPost('/', ''))
  const [request, response] = (await once(server, 'request')) as [
    { socket: Parameters<typeof injectFault>[1]['connection'] },
    ServerResponse,
  ]
  const scene = { response, connection: request.socket, ended: end.signal, clock: systemClock }
  const injecting = injectFault('endless', scene)
  let standstill = 0
  while (standstill < turnsOfStandstill && response.writableLength < bufferedBytesMax) {
    const { bytesWritten } = request.socket
    await nextTurn()
    const moves = !response.writableNeedDrain || request.socket.bytesWritten !== bytesWritten
    standstill = moves ? 0 : standstill + 1
  }
  expect(response.writableLength).toBeLessThan(bufferedBytesMax)
  end.abort()
  await injecting
  expect(request.socket.destroyed).toBe(true)
  socket.destroy()
})

test('a fault queued behind a second one on its connection ends with the receiver', async () => {
  const { receiver, port } = await start()
  const socket = await dial(port)
  const received = readAll(socket)
  const body = '{"type":"page"}'
  const rest = ['HTTP/1.1', 'Host: localhost', `Content-Length: ${body.length}`, '', body].join(
    '\r\n',
  )
  const arrived = receiver.waitFor(3)
  // Once the third event is announced, the second is queued behind the first.
  const paths = ['/fault/hang', '/fault/truncate', '/']
  socket.write(paths.map((path) => `POST ${path} ${rest}`).join(''))
  await arrived
  await receiver.close()
  expect(await received).toBe('')
})
