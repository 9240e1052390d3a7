import type { RequestListener, Server } from 'node:http'
import type { Socket } from 'node:net'
import { systemClock } from '../runtime/index.ts'
import { clientNetwork } from './ip-address.ts'
import { FairBudget } from './fair-budget.ts'

/** Number of requests on one connection that may wait while an earlier one is answered. */
const pipelinedMax = 32

/** Shares connections fairly among clients, and closes those over the limit. No client gets more than half. */
export function limitConnections(server: Server, connectionsMax: number): void {
  const budget = new FairBudget(connectionsMax)
  server.prependListener('connection', (socket: Socket) => {
    const share = budget.share(clientNetwork(socket.remoteAddress))
    if (share.take(1)) socket.once('close', () => share.release())
    else socket.destroy()
  })
}

/** Handles the requests of a connection one after the other, so that pipelining gives no client a larger share. */
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

/** Closes connections whose clients don't read their answers, because unread answers stay in memory. */
export function boundUnreadAnswers(server: Server, timeoutMs: number): void {
  server.prependListener('request', ({ socket }, response) => {
    response.prependOnceListener('prefinish', () => {
      // Usually, the system has already taken the whole answer, and no timer is needed.
      if (socket.writableLength === 0) return
      const timer = systemClock.schedule(timeoutMs, () => socket.destroy())
      response.once('close', () => timer.cancel())
    })
  })
}
