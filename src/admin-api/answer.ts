import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  jsonAnswer,
  sendAnswer,
  withHeaders,
  type HttpAnswer,
  type RequestFault,
} from '../http/index.ts'
import { EvrouteError, messageOf, systemCode } from '../model/index.ts'
import type { Log } from '../runtime/index.ts'
import type { AnswerName, AnswerRecord } from './answer-schemas.ts'
import type { AdminApiOptions } from './ports.ts'

/** An HTTP answer, and the record that its JSON body contains, if any. */
export type Answer = HttpAnswer & { readonly record?: Readonly<Record<string, unknown>> }

/** The stable `error.code` of an answer that refuses a request. */
export type RefusalCode =
  | 'invalid_request'
  | 'invalid_json'
  | 'nothing_selected'
  | 'unauthorized'
  | 'host_not_allowed'
  | 'origin_not_allowed'
  | 'not_found'
  | 'method_not_allowed'
  | 'destination_disabled'
  | 'no_archive'
  | 'replay_running'
  | 'deletion_running'
  | 'sync_running'
  | 'audience_taken'
  | 'service_closing'
  | 'body_too_large'
  | 'body_too_slow'
  | 'unsupported_encoding'
  | 'store_unavailable'
  | 'internal_error'

/** Answers with JSON and a final line break, which terminals need. */
export function json(status: number, document: object, headers?: Answer['headers']): Answer {
  const answer = jsonAnswer(status, document, headers)
  return { ...answer, body: `${String(answer.body)}\n` }
}

/** Answers 200 with a record, in the form that `--json` prints. */
export function record(fields: AnswerRecord<Exclude<AnswerName, 'line'>>): Answer {
  return { ...json(200, { v: 1, ...fields }), record: fields }
}

/** Why a request is refused, and the status of its answer. */
export interface Refusal {
  readonly status: number
  readonly code: RefusalCode
  /** A sentence without its final period. */
  readonly message: string
  readonly headers?: Answer['headers']
}

/** Makes the JSON answer for a refusal. */
export function refuse({ status, code, message, headers = {} }: Refusal): Answer {
  return json(status, { error: { code, message } }, headers)
}

/** Returns the first `limit` rows as a page. If another page follows, `last` is the last row of this page. */
export function pageOf<Row>(
  found: readonly Row[],
  limit: number,
): { readonly rows: readonly Row[]; readonly last: Row | undefined } {
  const rows = found.slice(0, limit)
  return { rows, last: found.length > limit ? rows.at(-1) : undefined }
}

const namesListedMax = 20

/** Refuses a request with an unknown name, and lists the known ones. */
export function notFound(what: string, known: readonly string[]): Refusal {
  const message = `There is no such ${what}: ${knownNames(known)}`
  return { status: 404, code: 'not_found', message }
}

/** Answers 404 `not_found` for an unknown id. */
export function unknownItem(what: string): Answer {
  return refuse({ status: 404, code: 'not_found', message: `There is no such ${what}` })
}

/** Lists the known names, as the end of a message. */
export function knownNames(known: readonly string[]): string {
  if (known.length === 0) return 'there are none'
  const omitted = known.length - namesListedMax
  const listed = known.slice(0, namesListedMax).join(', ')
  return `choose from ${listed}${omitted > 0 ? ` and ${omitted} more` : ''}`
}

/** Refuses a request that is malformed or slow. */
export function faultAnswer(fault: RequestFault): Answer {
  return refuse(faultRefusals[fault])
}

const faultRefusals: Readonly<Record<RequestFault, Refusal>> = {
  malformed: { status: 400, code: 'invalid_request', message: 'The request is not valid HTTP' },
  head_too_large: {
    status: 431,
    code: 'invalid_request',
    message: 'The headers of the request are too large',
  },
  too_slow: { status: 408, code: 'body_too_slow', message: 'The request did not arrive in time' },
}

/** Answers 405, with the allowed methods. */
export function refuseMethod(allowed: string): Answer {
  return refuse({
    status: 405,
    code: 'method_not_allowed',
    message: `The method is not allowed here; use ${allowed}`,
    headers: { allow: allowed },
  })
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
    ? { status: 503, code: 'store_unavailable', message: 'The store cannot be used at the moment' }
    : { status: 500, code: 'internal_error', message: 'The service failed to answer' }
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
