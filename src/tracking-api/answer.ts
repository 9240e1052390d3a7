import { jsonAnswer, withHeaders, type HttpAnswer, type RequestFault } from '../http/index.ts'
import type { JsonObject, RejectionCode } from '../model/index.ts'

/**
 * Why a request is refused as a whole.
 *
 * Beside the names of the protocol: `not_found` and `method_not_allowed` are requests that no route
 * is for, `invalid_request` is one that is not HTTP or whose head is too large, `body_too_slow` one that
 * did not come in time, most often its body.
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
  // Also where HTTP has 431, which no client knows.
  invalid_request: 400,
  unknown_write_key: 401,
  source_disabled: 403,
  not_found: 404,
  method_not_allowed: 405,
  rate_limited: 429,
  queue_full: 429,
  store_unavailable: 503,
  // Not 408: half of the clients in use drop their calls at it.
  body_too_slow: 503,
} as const

/** A request that is not taken, and why. */
export interface Refusal {
  /** Tells it from an accepted request. */
  readonly kind: 'refused'
  /** The stable name of the reason. */
  readonly code: RefusalCode
  /** The reason in words. */
  readonly message: string
  /** When to come again, in milliseconds from now. */
  readonly retryAfterMs?: number
}

/** A call that was not accepted, in an answer. */
export interface RejectedCall {
  /** Its place in the batch, from 0. */
  readonly index: number
  /** Its messageId; null when it has none that is text. */
  readonly messageId: string | null
  /** The stable name of the reason. */
  readonly code: RejectionCode
  /** The reason in words. */
  readonly message: string
}

/** How long a client is asked to wait while nothing can be stored, or too much waits to be. */
export const tryLaterMs = 5_000

/** Makes a refusal. */
export function refuse(code: RefusalCode, message: string, retryAfterMs?: number): Refusal {
  const refusal: Refusal = { kind: 'refused', code, message }
  return retryAfterMs === undefined ? refusal : { ...refusal, retryAfterMs }
}

/** Answers 200: clients take no other status, and no empty body, for success. */
export function success(fields: JsonObject = {}): HttpAnswer {
  return jsonAnswer(200, { success: true, ...fields })
}

/** Answers that calls were taken in, and which were not. */
export function taken(accepted: number, rejected: readonly RejectedCall[]): HttpAnswer {
  return jsonAnswer(200, {
    success: true,
    accepted,
    rejected: rejected.map((call) => ({ ...call })),
  })
}

/**
 * Answers with a refusal. Clients look for the reason in three fields. Some fail, or retry forever, if one of
 * them is missing. Every 503 says when to come again.
 */
export function refusalAnswer({ code, message, retryAfterMs }: Refusal): HttpAnswer {
  const answer = jsonAnswer(statuses[code], { success: false, error: message, code, message })
  const waitMs = retryAfterMs ?? (answer.status === 503 ? tryLaterMs : undefined)
  if (waitMs === undefined) return answer
  const retryAfter = String(Math.max(1, Math.ceil(waitMs / 1_000)))
  return withHeaders(answer, { 'retry-after': retryAfter })
}

/** Answers what never became a request. */
export function faultAnswer(fault: RequestFault): HttpAnswer {
  return refusalAnswer(faultRefusals[fault])
}

const faultRefusals: Readonly<Record<RequestFault, Refusal>> = {
  malformed: refuse('invalid_request', 'The request is not valid HTTP'),
  head_too_large: refuse('invalid_request', 'The head of the request is too large'),
  too_slow: refuse('body_too_slow', 'The request did not come in time'),
}
