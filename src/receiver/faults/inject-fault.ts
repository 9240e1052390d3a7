import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { sleep, systemClock, type Clock } from '../../runtime/index.ts'
import type { Fault } from './fault.ts'

/** The exchange into which a fault is injected. */
export interface FaultScene {
  readonly response: ServerResponse
  /** The TCP connection, below TLS. */
  readonly connection: Socket
  /** Aborts when the sender gives up or the receiver closes. */
  readonly ended: AbortSignal
  readonly clock: Clock
}

/** The interval between the bytes of the fault `drip`. */
export const dripIntervalMs = 1_000

const endlessChunk = Buffer.alloc(16 * 1024, ' ')
const malformedBytes = 'these bytes are not HTTP\r\n\r\n'

/** Injects a fault, then closes the connection. */
export async function injectFault(fault: Fault, scene: FaultScene): Promise<void> {
  const { connection, ended } = scene
  switch (fault) {
    case 'reset':
      connection.resetAndDestroy()
      return
    case 'hang':
      if (!ended.aborted) await once(ended, 'abort')
      break
    case 'empty':
      break
    case 'truncate':
      await truncate(scene)
      break
    case 'malformed':
      await written((done) => scene.response.req.socket.write(malformedBytes, done), ended)
      break
    case 'drip':
      await drip(scene)
      break
    case 'endless':
      await pour(scene)
      break
  }
  scene.response.req.socket.destroy()
}

async function truncate({ response, ended }: FaultScene): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 })
  await written((done) => response.write('{"ok":', done), ended)
}

async function drip({ response, ended, clock }: FaultScene): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json' })
  while (!ended.aborted) {
    response.write(' ')
    await sleep(clock, dripIntervalMs, ended)
  }
}

async function pour({ response, ended }: FaultScene): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json' })
  while (!ended.aborted) {
    // Buffer at most one chunk. Continue when the sender has read it.
    if (!response.write(endlessChunk)) {
      await once(response, 'drain', { signal: ended }).catch(() => undefined)
    }
    // Yield to other requests, because a fast sender would otherwise keep this loop running.
    await sleep(systemClock, 0, ended)
  }
}

/** Resolves when the write succeeds or fails, or `ended` aborts. An earlier pipelined response can delay the write. */
function written(write: (done: () => void) => void, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (ended.aborted) resolve()
    ended.addEventListener('abort', () => resolve(), { once: true })
    write(() => resolve())
  })
}
