import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../runtime/index.ts'
import { lingerOver } from './read-body.ts'

/** An answer to send. `Content-Length` is added on sending. */
export interface HttpAnswer {
  readonly status: number
  /** Including the content type. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
}

/** Makes an answer with JSON as its body and content type. */
export function jsonAnswer(
  status: number,
  document: object,
  headers: HttpAnswer['headers'] = {},
): HttpAnswer {
  const type = { 'content-type': 'application/json' }
  return { status, headers: Object.assign(type, headers), body: JSON.stringify(document) }
}

/** Makes an answer with an error in JSON: a stable code for programs, and a sentence for people. */
export function errorAnswer(status: number, code: string, message: string): HttpAnswer {
  return jsonAnswer(status, { error: { code, message } })
}

/** Whether a person opened the root of this server in a browser. Only browsers list HTML first in `Accept`. */
export function isBrowserAtRoot({ method, url, headers }: IncomingMessage): boolean {
  return method === 'GET' && url === '/' && headers.accept?.startsWith('text/html') === true
}

/** Adds headers to an answer, except those that it already has. */
export function withHeaders<Answer extends HttpAnswer>(
  answer: Answer,
  headers: HttpAnswer['headers'],
): Answer {
  // Assigning is faster than spreading on Node 20.
  return Object.assign({}, answer, { headers: Object.assign({}, headers, answer.headers) })
}

/** Sends an answer. Does nothing if the client has left or already has an answer. */
export function sendAnswer(response: ServerResponse, answer: HttpAnswer): void {
  if (writeHead(response, answer)) response.end(answer.body)
}

/**
 * Sends an answer while the client is still sending its request, and reads on for a while, like nginx with
 * `lingering_close`. Closing at once would cause a reset, which may overtake the answer. Never rejects.
 */
export async function sendLingering(
  response: ServerResponse,
  answer: HttpAnswer,
  clock: Clock,
): Promise<void> {
  if (!writeHead(response, withHeaders(answer, { connection: 'close' }))) return
  response.write(answer.body)
  await lingerOver(response.req, clock)
  response.end()
}

/** Returns a signal that aborts once a response has been sent or its client has left. */
export function closeOf(response: ServerResponse): AbortSignal {
  const closed = new AbortController()
  response.once('close', () => closed.abort())
  return closed.signal
}

/** Writes all headers at once, which is faster than setting each. Returns false if an answer can no longer be sent. */
function writeHead(response: ServerResponse, { status, headers, body }: HttpAnswer): boolean {
  if (response.destroyed || response.headersSent) return false
  const isBodiless = status === 204 || status === 304
  const length = isBodiless ? {} : { 'content-length': Buffer.byteLength(body) }
  response.writeHead(status, Object.assign({}, headers, length))
  return true
}
