import type { RequestListener, Server } from 'node:http'
import type { Socket } from 'node:net'
import { systemClock } from '../runtime/index.ts'
import { clientNetwork } from './client-network.ts'
import { FairBudget } from './fair-budget.ts'

/** Requests of one connection that may wait for the answer to the one before them. */
const pipelinedMax = 32

/**
 * Shares a server's connections fairly among clients: one that opens all it can leaves half of them
 * to others. A connection over the limit is closed at once.
 */
export function limitConnections(server: Server, connectionsMax: number): void {
  const budget = new FairBudget(connectionsMax)
  server.prependListener('connection', (socket: Socket) => {
    const share = budget.share(clientNetwork(socket.remoteAddress))
    if (share.take(1)) socket.once('close', () => share.release())
    else socket.destroy()
  })
}

/**
 * Handles the requests of a connection one after the other, as they are answered, so that pipelining
 * multiplies nothing. A connection on which too many wait is closed.
 */
export function inTurn(handler: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, (() => void)[]>()
  return (request, response) => {
    const { socket } = request
    const handle = (): void => {
      response.once('close', next)
      handler(request, response)
    }
    const next = (): void => {
      const following = socket.destroyed ? undefined : waiting.get(socket)?.shift()
      if (following === undefined) waiting.delete(socket)
      else following()
    }
    const queue = waiting.get(socket)
    if (queue === undefined) {
      waiting.set(socket, [])
      handle()
    } else if (queue.length < pipelinedMax) {
      queue.push(handle)
    } else {
      socket.destroy()
    }
  }
}

/** Closes connections whose client does not read its answer: the answer would stay in memory. */
export function boundUnreadAnswers(server: Server, timeoutMs: number): void {
  server.prependListener('request', ({ socket }, response) => {
    response.prependOnceListener('prefinish', () => {
      // Nearly every answer is with the system by now, and needs no timer.
      if (socket.writableLength === 0) return
      const timer = systemClock.schedule(timeoutMs, () => socket.destroy())
      response.once('close', () => timer.cancel())
    })
  })
}
