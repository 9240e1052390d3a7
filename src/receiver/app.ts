import { IncomingMessage, ServerResponse, type RequestListener } from 'node:http'
import express, { type Request, type Response } from 'express'
import { messageOf } from '../model/index.ts'
import type { Log } from '../runtime/index.ts'
import { accepted, refusal, type Answer } from './answer.ts'
import { apiPrefix } from './wait-api.ts'

/** Deals with one request, up to its answer. */
export type Receive = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** What deals with the requests of a receiver. */
export interface Routes {
  /** `GET` below `/_evroute/`. */
  readonly ask: Receive
  /** Everything else but `GET /healthz`; `POST` below `/_evroute/` too: any path is one of webhooks. */
  readonly receive: Receive
}

/** The routes of a receiver. */
export function receiverApp({ ask, receive }: Routes, log: Log): RequestListener {
  const app = express()
  app.disable('x-powered-by')
  // Those that they have: with others it receives half as much.
  app.request = IncomingMessage.prototype as Request
  app.response = ServerResponse.prototype as Response
  app.get('/healthz', (_request, response) => send(response, accepted(200)))
  return (request, response) => {
    const isQuestion = request.method === 'GET' && request.url?.startsWith(apiPrefix) === true
    const handle = isQuestion ? ask : receive
    const handleRest = (): void => {
      handle(request, response).catch((error: unknown) => {
        log.warn('a request could not be handled', { error: messageOf(error) })
        send(response, refusal(500, 'internal_error', 'The receiver failed'))
      })
    }
    // Not a route: express asks no route when a path cannot be parsed, and such a request counts too.
    app(request as Request, response as Response, handleRest)
  }
}

/** Sends an answer; does nothing where nobody waits for it, or one was sent before. */
export function send(response: ServerResponse, { status, body, headers }: Answer): void {
  if (response.destroyed || response.headersSent) return
  response.statusCode = status
  response.setHeaders(new Map(Object.entries({ 'content-type': 'application/json', ...headers })))
  response.end(JSON.stringify(body))
}
