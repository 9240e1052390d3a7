import { jsonAnswer, withHeaders, type HttpAnswer, type RequestFault } from '../http/index.ts'
import type { JsonObject, Rejection } from '../model/index.ts'

/** Why a whole request is refused. Most of the codes are those of the protocol. */
export type RefusalCode = keyof typeof statuses

const statuses = {
  invalid_json: 400,
  invalid_batch: 400,
  nothing_valid: 400,
  event_too_large: 400,
  batch_too_large: 400,
  too_many_events: 400,
  invalid_gzip: 400,
  // Not 431 for large headers, because no client handles it.
  invalid_request: 400,
  unknown_write_key: 401,
  source_disabled: 403,
  not_found: 404,
  method_not_allowed: 405,
  rate_limited: 429,
  queue_full: 429,
  store_unavailable: 503,
  // Not 408, because half of the clients in use would drop their calls.
  body_too_slow: 503,
} as const

/** A request that is refused as a whole, and why. */
export interface Refusal {
  readonly kind: 'refused'
  readonly code: RefusalCode
  readonly message: string
  /** How long the client should wait before it sends again: for `Retry-After`, which 429 and 503 have. */
  readonly retryAfterMs?: number
}

/** A rejected call, as the answer lists it. */
export interface RejectedCall extends Rejection {
  readonly index: number
  /** Null unless the call's messageId is a string or a number. */
  readonly messageId: string | null
}

/** The wait in `Retry-After` by default: while the store is failing or behind, or while there is no room for bodies. */
const tryLaterMs = 5_000

/** Makes a refusal. */
export function refuse(code: RefusalCode, message: string): Refusal {
  return { kind: 'refused', code, message }
}

/** Answers 200 with a JSON body, because clients expect both on success. */
export function success(fields: JsonObject = {}): HttpAnswer {
  return jsonAnswer(200, { success: true, ...fields })
}

/** Answers with a refusal. Each client reads one of three fields, and some fail if theirs is missing. */
export function refusalAnswer({ code, message, retryAfterMs }: Refusal): HttpAnswer {
  const answer = jsonAnswer(statuses[code], { success: false, error: message, code, message })
  if (answer.status !== 429 && answer.status !== 503) return answer
  const retryAfter = String(Math.max(1, Math.ceil((retryAfterMs ?? tryLaterMs) / 1_000)))
  return withHeaders(answer, { 'retry-after': retryAfter })
}

/** Answers a malformed or slow request. */
export function faultAnswer(fault: RequestFault): HttpAnswer {
  return refusalAnswer(faultRefusals[fault])
}

const faultRefusals: Readonly<Record<RequestFault, Refusal>> = {
  malformed: refuse('invalid_request', 'The request is not valid HTTP'),
  head_too_large: refuse('invalid_request', 'The headers of the request are too large'),
  too_slow: refuse('body_too_slow', 'The request took too long to arrive'),
}
