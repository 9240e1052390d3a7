import type { ServerResponse } from 'node:http'
import {
  jsonAnswer,
  sendAnswer,
  withHeaders,
  type HttpAnswer,
  type RequestFault,
} from '../http/index.ts'

/** What a request is answered, with the record in its body if there is one. */
export type Answer = HttpAnswer & { readonly record?: Readonly<Record<string, unknown>> }

/** Why a request is refused. */
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

/** Answers with JSON on a line of its own, as terminals show it best. */
export function json(status: number, document: object, headers?: Answer['headers']): Answer {
  const answer = jsonAnswer(status, document, headers)
  return { ...answer, body: `${String(answer.body)}\n` }
}

/** Answers with a record, as the command line writes it. */
export function record(fields: Readonly<Record<string, unknown>>): Answer {
  return { ...json(200, { v: 1, ...fields }), record: fields }
}

/** A refusal before it is an answer. */
export interface Refusal {
  /** The HTTP status. */
  readonly status: number
  /** The stable name that programs compare. */
  readonly code: RefusalCode
  /** What is wrong, as a sentence without its final period. */
  readonly message: string
  /** Headers beside its content type. */
  readonly headers?: Answer['headers']
}

/** Answers why a request was not served. */
export function refuse({ status, code, message, headers = {} }: Refusal): Answer {
  return json(status, { error: { code, message } }, headers)
}

/** Names that a refusal lists. */
const namesListedMax = 20

/** Refuses what names something that is not there. */
export function notFound(what: string, known: readonly string[]): Refusal {
  const message = `There is no such ${what}: ${knownNames(known)}`
  return { status: 404, code: 'not_found', message }
}

/** Says which names there are, for the end of a message. */
export function knownNames(known: readonly string[]): string {
  if (known.length === 0) return 'there is none'
  const left = known.length - namesListedMax
  const listed = known.slice(0, namesListedMax).join(', ')
  return `known are ${listed}${left > 0 ? ` and ${left} more` : ''}`
}

/** Answers what never became a request. */
export function faultAnswer(fault: RequestFault): Answer {
  return refuse(faultRefusals[fault])
}

const faultRefusals: Readonly<Record<RequestFault, Refusal>> = {
  malformed: { status: 400, code: 'invalid_request', message: 'The request is not valid HTTP' },
  head_too_large: {
    status: 431,
    code: 'invalid_request',
    message: 'The head of the request is too large',
  },
  too_slow: { status: 408, code: 'body_too_slow', message: 'The request did not come in time' },
}

/** Answers a request whose path has other methods. */
export function refuseMethod(allowed: string): Answer {
  return refuse({
    status: 405,
    code: 'method_not_allowed',
    message: `The method is not allowed here; use ${allowed}`,
    headers: { allow: allowed },
  })
}

/** Headers that every answer has. */
export const commonHeaders: Answer['headers'] = Object.freeze({
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
})

/** Sends an answer. Does nothing if the client has left or was answered before. */
export function send(response: ServerResponse, answer: Answer): void {
  sendAnswer(response, withHeaders(answer, commonHeaders))
}
