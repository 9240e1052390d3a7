import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { onTestFinished } from 'vitest'

/** Listens with the smallest backlog, and accepts no connection until it is woken. */
const program = `
  const { createServer } = require('node:net')
  const { parentPort, workerData } = require('node:worker_threads')
  const server = createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port)
    Atomics.wait(workerData, 0, 0)
  })
`

/** The number of connections that Linux accepts into a backlog of 1. */
const backlogConnections = 2

/** Returns a port of 127.0.0.1 whose backlog is full until the test ends. On Linux, connecting to it hangs. */
export async function fullBacklogPort(): Promise<number> {
  const awake = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(program, { eval: true, workerData: awake })
  onTestFinished(async () => {
    Atomics.store(awake, 0, 1)
    Atomics.notify(awake, 0)
    await worker.terminate()
  })
  const [port] = (await once(worker, 'message')) as [number]
  for (let count = 0; count < backlogConnections; count++) await once(connectTo(port), 'connect')
  return port
}

/** Opens a connection, which is closed when the test ends. */
export function connectTo(port: number): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  return socket
}
