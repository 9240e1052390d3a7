import { jsonAnswer, withHeaders, type HttpAnswer, type RequestFault } from '../http/index.ts'
import type { JsonObject, RejectionCode } from '../model/index.ts'

/**
 * Why a whole request is refused. The codes are those of the protocol, and `not_found`, `method_not_allowed`,
 * `invalid_request` (malformed HTTP, or a head that is too large) and `body_too_slow` (a request, usually its
 * body, that arrived too slowly).
 */
export type RefusalCode = keyof typeof statuses

const statuses = {
  invalid_json: 400,
  invalid_batch: 400,
  nothing_valid: 400,
  event_too_large: 400,
  batch_too_large: 400,
  too_many_events: 400,
  invalid_gzip: 400,
  // Instead of 431, which no client knows.
  invalid_request: 400,
  unknown_write_key: 401,
  source_disabled: 403,
  not_found: 404,
  method_not_allowed: 405,
  rate_limited: 429,
  queue_full: 429,
  store_unavailable: 503,
  // Not 408, because half of the clients in use then drop their calls.
  body_too_slow: 503,
} as const

/** The reason why a request is refused. */
export interface Refusal {
  readonly kind: 'refused'
  readonly code: RefusalCode
  readonly message: string
  /** When to send again, in milliseconds from now. */
  readonly retryAfterMs?: number
}

/** A rejected call, as answers list it. */
export interface RejectedCall {
  /** Index in the batch. */
  readonly index: number
  /** Null unless the messageId is a text or number. */
  readonly messageId: string | null
  readonly code: RejectionCode
  readonly message: string
}

/** Retry-After while the store fails or is behind. */
export const tryLaterMs = 5_000

/** Makes a refusal. */
export function refuse(code: RefusalCode, message: string, retryAfterMs?: number): Refusal {
  const refusal: Refusal = { kind: 'refused', code, message }
  return retryAfterMs === undefined ? refusal : { ...refusal, retryAfterMs }
}

/** Answers 200 with a body, because clients expect both of a success. */
export function success(fields: JsonObject = {}): HttpAnswer {
  return jsonAnswer(200, { success: true, ...fields })
}

/** Answers with the number of accepted calls, and the rejected ones. */
export function taken(accepted: number, rejected: readonly RejectedCall[]): HttpAnswer {
  return jsonAnswer(200, {
    success: true,
    accepted,
    rejected: rejected.map((call) => ({ ...call })),
  })
}

/**
 * Answers with a refusal. Clients read the reason from one of three fields; some fail or retry forever without
 * theirs. Every 503 has a Retry-After.
 */
export function refusalAnswer({ code, message, retryAfterMs }: Refusal): HttpAnswer {
  const answer = jsonAnswer(statuses[code], { success: false, error: message, code, message })
  const waitMs = retryAfterMs ?? (answer.status === 503 ? tryLaterMs : undefined)
  if (waitMs === undefined) return answer
  const retryAfter = String(Math.max(1, Math.ceil(waitMs / 1_000)))
  return withHeaders(answer, { 'retry-after': retryAfter })
}

/** Answers a malformed or slow request. */
export function faultAnswer(fault: RequestFault): HttpAnswer {
  return refusalAnswer(faultRefusals[fault])
}

const faultRefusals: Readonly<Record<RequestFault, Refusal>> = {
  malformed: refuse('invalid_request', 'The request is not valid HTTP'),
  head_too_large: refuse('invalid_request', 'The head of the request is too large'),
  too_slow: refuse('body_too_slow', 'The request did not come in time'),
}
