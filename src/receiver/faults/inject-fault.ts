import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { sleep, systemClock, type Clock } from '../../runtime/index.ts'
import type { Fault } from './fault.ts'

/** Where a fault happens. */
export interface FaultScene {
  /** The response that is not sent. */
  readonly response: ServerResponse
  /** The connection that it would be sent over, below TLS. */
  readonly connection: Socket
  /** Aborts when the sender gives up or the receiver closes. */
  readonly ended: AbortSignal
  /** Spaces the bytes of a drip. */
  readonly clock: Clock
}

/** Between the bytes of a drip. */
export const dripIntervalMs = 1_000

const endlessChunk = Buffer.alloc(16 * 1024, ' ')
const malformedBytes = 'these bytes are not HTTP\r\n\r\n'

/** Does a fault instead of answering, and closes the connection. Resolves once that is done. */
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
    // Bytes that a sender does not take wait in a buffer of one chunk, not in memory.
    if (!response.write(endlessChunk)) {
      await once(response, 'drain', { signal: ended }).catch(() => undefined)
    }
    // A sender that takes everything at once must not keep the others from their turn.
    await sleep(systemClock, 0, ended)
  }
}

/**
 * Resolves when bytes were handed to the system, or cannot be, or the scene has ended: a response waits
 * for those before it on its connection.
 */
function written(write: (done: () => void) => void, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (ended.aborted) resolve()
    ended.addEventListener('abort', () => resolve(), { once: true })
    write(() => resolve())
  })
}
