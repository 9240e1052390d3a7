import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import express, { type Request, type Response } from 'express'
import { messageOf } from '../model/index.ts'
import type { Log } from '../runtime/index.ts'
import { accepted, refusal, type Answer } from './answer.ts'

/** Deals with one request, up to its answer. */
export type Receive = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** The routes of a receiver: `GET /healthz`, and everything else to `receive`. */
export function receiverApp(receive: Receive, log: Log): RequestListener {
  const app = express()
  app.disable('x-powered-by')
  app.get('/healthz', (_request, response) => send(response, accepted(200)))
  return (request, response) => {
    const receiveRest = (): void => {
      receive(request, response).catch((error: unknown) => {
        log.warn('a request could not be handled', { error: messageOf(error) })
        send(response, refusal(500, 'internal_error', 'The receiver failed'))
      })
    }
    // Not a route: express asks no route when a path cannot be parsed, and such a request counts too.
    app(request as Request, response as Response, receiveRest)
  }
}

/** Sends an answer; does nothing where nobody waits for it, or one was sent before. */
export function send(response: ServerResponse, { status, body, headers }: Answer): void {
  if (response.destroyed || response.headersSent) return
  response.statusCode = status
  response.setHeaders(new Map(Object.entries({ 'content-type': 'application/json', ...headers })))
  response.end(JSON.stringify(body))
}
