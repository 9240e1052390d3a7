import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  jsonAnswer,
  sendAnswer,
  withHeaders,
  type HttpAnswer,
  type RequestFault,
} from '../http/index.ts'
import { EvrouteError, messageOf, systemCode, unknownName } from '../model/index.ts'
import type { Log } from '../runtime/index.ts'
import type { AnswerName, AnswerRecord } from './answer-schemas.ts'
import type { AdminApiOptions } from './ports.ts'

/** An HTTP answer, and the record that its JSON body contains, if any. */
export type Answer = HttpAnswer & { readonly record?: Readonly<Record<string, unknown>> }

/** The `error.code` of an answer that refuses a request, and its status. Codes are stable. */
const statuses = {
  invalid_request: 400,
  invalid_json: 400,
  nothing_selected: 400,
  unauthorized: 401,
  host_not_allowed: 403,
  origin_not_allowed: 403,
  not_found: 404,
  method_not_allowed: 405,
  body_too_slow: 408,
  destination_disabled: 409,
  no_archive: 409,
  replay_running: 409,
  deletion_running: 409,
  sync_running: 409,
  audience_taken: 409,
  body_too_large: 413,
  unsupported_encoding: 415,
  internal_error: 500,
  service_closing: 503,
  store_unavailable: 503,
} as const

/** Answers with JSON and a final line break, which terminals need. */
export function json(status: number, document: object, headers?: Answer['headers']): Answer {
  const answer = jsonAnswer(status, document, headers)
  return { ...answer, body: `${String(answer.body)}\n` }
}

/** Answers 200 with a record, in the form that `--json` prints. */
export function record(fields: AnswerRecord<Exclude<AnswerName, 'line'>>): Answer {
  return { ...json(200, { v: 1, ...fields }), record: fields }
}

/** An answer that refuses a request, and the error that its JSON body contains. */
export interface Refusal extends HttpAnswer {
  readonly error: {
    readonly code: keyof typeof statuses
    /** A sentence without its final period. */
    readonly message: string
  }
}

/** Refuses a request. */
export function refuse(
  code: keyof typeof statuses,
  message: string,
  headers: Answer['headers'] = {},
): Refusal {
  const error = { code, message }
  return { ...json(statuses[code], { error }, headers), error }
}

/** Returns the first `limit` rows as a page. If another page follows, `last` is the last row of this page. */
export function pageOf<Row>(
  found: readonly Row[],
  limit: number,
): { readonly rows: readonly Row[]; readonly last: Row | undefined } {
  const rows = found.slice(0, limit)
  return { rows, last: found.length > limit ? rows.at(-1) : undefined }
}

/** Refuses a request with an unknown name, and lists the known ones. */
export function notFound(what: string, known: readonly string[]): Refusal {
  return refuse('not_found', unknownName(what, known))
}

/** Refuses a request that is malformed or slow. */
export function faultAnswer(fault: RequestFault): Answer {
  switch (fault) {
    case 'malformed':
      return refuse('invalid_request', 'The request is not valid HTTP')
    case 'head_too_large':
      return {
        ...refuse('invalid_request', 'The headers of the request are too large'),
        status: 431,
      }
    case 'too_slow':
      return refuse('body_too_slow', 'The request did not arrive in time')
  }
}

/** Answers 405, with the allowed methods. */
export function refuseMethod(allow: string): Refusal {
  return refuse('method_not_allowed', `The method is not allowed here; use ${allow}`, { allow })
}

/** Headers of every answer. They forbid caching, and stop browsers from guessing the type. */
export const commonHeaders: Answer['headers'] = Object.freeze({
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
})

/** Sends an answer. Does nothing if the client has left or has already been answered. */
export function send(response: ServerResponse, answer: Answer): void {
  sendAnswer(response, withHeaders(answer, commonHeaders))
}

/** Logs an unexpected error, and refuses the request without details. */
export function refusalOfFailure(error: unknown, log: Log): Refusal {
  log.warn('a request to the admin API failed', {
    error: messageOf(error),
    code: systemCode(error),
  })
  return isStoreError(error)
    ? refuse('store_unavailable', 'The store cannot be used at the moment')
    : refuse('internal_error', 'The service failed to answer')
}

/** Whether an error means that the store cannot be used. */
export function isStoreError(error: unknown): boolean {
  return (
    error instanceof EvrouteError &&
    (error.code === 'store_closed' || error.code === 'store_unusable')
  )
}

/** Logs and counts a wrong token or link, because its client may be guessing. */
export function noteWrongToken(
  { socket }: IncomingMessage,
  { metrics, runtime }: Pick<AdminApiOptions, 'metrics' | 'runtime'>,
): void {
  metrics.wrongToken()
  const client = socket.remoteAddress ?? ''
  runtime.log.warn('a wrong token or link for the admin API was refused', { client })
}
