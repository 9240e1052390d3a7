import {
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { Socket } from 'node:net'
import { systemCode } from '../model/index.ts'
import { systemClock } from '../runtime/index.ts'
import { sendAnswer, type HttpAnswer } from './http-answer.ts'
import { lingerBytesMax, lingerMs } from './linger.ts'

/**
 * Why a request cannot be handled: `malformed`, it is not HTTP or not a whole request;
 * `head_too_large`, its request line and headers have too many bytes; `too_slow`, it took longer than
 * its deadlines.
 */
export type RequestFault = 'malformed' | 'head_too_large' | 'too_slow'

/** Decides the answer to a request with a fault, in the form that the clients of a port know. */
export type AnswerFault = (fault: RequestFault) => HttpAnswer

/** Has a server answer requests with a fault, where node would send a status without a body. */
export function answerFaults(server: Server, answerFault: AnswerFault): void {
  const pipelines = new WeakMap<Socket, Pipeline>()
  /** The bytes that had been read of a connection when it was given up. */
  const bytesReadAtFault = new WeakMap<Socket, number>()
  server.on('request', ({ socket }, latest) => {
    pipelines.set(socket, { latest, before: pipelines.get(socket)?.latest })
  })
  server.on('clientError', (error, socket) => {
    // It always is one; only the types do not say so.
    if (!(socket instanceof Socket)) return
    const bytesRead = bytesReadAtFault.get(socket)
    if (bytesRead !== undefined) {
      // All later bytes end here, too, and are discarded.
      if (socket.bytesRead - bytesRead > lingerBytesMax) socket.destroy()
      return
    }
    bytesReadAtFault.set(socket, socket.bytesRead)
    const turn = turnOf(socket, pipelines.get(socket))
    if (turn === 'never') {
      socket.destroySoon()
      return
    }
    const answer = (): void => closeWith(socket, answerFault(faultOf(error)))
    if (turn === 'now') answer()
    else turn.after.once('close', answer)
  })
}

/** The last responses of a connection; clients may ask again before they are answered. */
interface Pipeline {
  /** The answer of the last request with a good head. */
  readonly latest: ServerResponse
  /** The one before it; it is sent first. */
  readonly before: ServerResponse | undefined
}

/** The same for a request of HTTP/1.1 without a Host, which node would answer on its own. */
export function requireHost(handler: RequestListener, answerFault: AnswerFault): RequestListener {
  return (request, response) => {
    if (request.headers.host !== undefined || !speaksHttp11(request)) {
      handler(request, response)
      return
    }
    const answer = answerFault('malformed')
    sendAnswer(response, { ...answer, headers: { ...answer.headers, connection: 'close' } })
  }
}

function speaksHttp11({ httpVersionMajor, httpVersionMinor }: IncomingMessage): boolean {
  return httpVersionMajor === 1 && httpVersionMinor === 1
}

function faultOf(error: Error): RequestFault {
  const code = systemCode(error)
  if (code === 'HPE_HEADER_OVERFLOW') return 'head_too_large'
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'too_slow' : 'malformed'
}

/** When to send an answer so that the client matches it with the faulty request. */
function turnOf(
  socket: Socket,
  pipeline: Pipeline | undefined,
): 'now' | { readonly after: ServerResponse } | 'never' {
  // A client that only connected, as browsers do ahead of time, did not ask anything.
  if (!socket.writable || socket.bytesRead === 0) return 'never'
  if (pipeline === undefined) return 'now'
  const { latest, before } = pipeline
  // The fault is in the body of the last request, or else behind it.
  const isInLatest = !latest.req.complete
  if (isInLatest && latest.headersSent) return 'never'
  const preceding = isInLatest ? before : latest
  return preceding === undefined || preceding.writableFinished ? 'now' : { after: preceding }
}

/** Reading goes on for a while: a reset could overtake the answer. */
function closeWith(socket: Socket, { status, headers, body }: HttpAnswer): void {
  if (!socket.writable) return
  const fields = {
    ...headers,
    date: new Date(systemClock.nowMs()).toUTCString(),
    connection: 'close',
    'content-length': Buffer.byteLength(body),
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n`)
  socket.end(body)
  const timer = systemClock.schedule(lingerMs, () => socket.destroy())
  socket.once('close', () => timer.cancel())
}
