import { STATUS_CODES, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { systemCode } from '../model/index.ts'
import { systemClock } from '../runtime/index.ts'
import { sendAnswer, type HttpAnswer } from './http-answer.ts'
import { lingerBytesMax, lingerMs } from './read-body.ts'

/** Why a request is faulty. `malformed`: incomplete or not HTTP. `head_too_large`: line and headers are too long. */
export type RequestFault = 'malformed' | 'head_too_large' | 'too_slow'

/** Makes the answer to a faulty request, in the form that a port's clients expect. */
export type AnswerFault = (fault: RequestFault) => HttpAnswer

/** Makes a server answer faulty requests. Node would send a status without a body. */
export function answerFaults(server: Server, answerFault: AnswerFault): void {
  const pipelines = new WeakMap<Socket, Pipeline>()
  /** Number of bytes read from a connection when its request was found faulty. */
  const bytesReadAtFault = new WeakMap<Socket, number>()
  server.on('request', ({ socket }, latest) => {
    pipelines.set(socket, { latest, before: pipelines.get(socket)?.latest })
  })
  server.on('clientError', (error, socket) => {
    // It is always a `Socket`, but the types don't say so.
    if (!(socket instanceof Socket)) return
    const bytesRead = bytesReadAtFault.get(socket)
    if (bytesRead !== undefined) {
      // After a fault, further bytes are discarded, but each chunk causes another `clientError`.
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

/** The last two responses of a connection. A client may send a request before the previous one is answered. */
interface Pipeline {
  /** The response to the last request with a valid head. */
  readonly latest: ServerResponse
  /** The response before `latest`. It is sent first. */
  readonly before: ServerResponse | undefined
}

/** Answers HTTP/1.1 requests without a Host as malformed. Node would send a bare 400. */
export function requireHost(handler: RequestListener, answerFault: AnswerFault): RequestListener {
  return (request, response) => {
    if (request.headers.host !== undefined || request.httpVersion !== '1.1') {
      handler(request, response)
      return
    }
    const answer = answerFault('malformed')
    sendAnswer(response, { ...answer, headers: { ...answer.headers, connection: 'close' } })
  }
}

function faultOf(error: Error): RequestFault {
  const code = systemCode(error)
  if (code === 'HPE_HEADER_OVERFLOW') return 'head_too_large'
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'too_slow' : 'malformed'
}

/** Decides when to send an answer so that the client matches it with the faulty request. */
function turnOf(
  socket: Socket,
  pipeline: Pipeline | undefined,
): 'now' | { readonly after: ServerResponse } | 'never' {
  // A client that only connected, as browsers do ahead of time, has not asked for anything.
  if (!socket.writable || socket.bytesRead === 0) return 'never'
  if (pipeline === undefined) return 'now'
  const { latest, before } = pipeline
  // The fault is in the body of the last request, or after that request.
  const isInLatest = !latest.req.complete
  if (isInLatest && latest.headersSent) return 'never'
  const preceding = isInLatest ? before : latest
  return preceding === undefined || preceding.writableFinished ? 'now' : { after: preceding }
}

/** Sends an answer and ends the connection. Reads on for a while, because a reset could overtake the answer. */
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
