import type { ServerResponse } from 'node:http'
import { endLingering, type RequestFault } from '../http/index.ts'
import type { JsonObject, RejectionCode } from '../model/index.ts'
import type { Clock } from '../runtime/index.ts'

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

/** The answer to a request. */
export interface Answer {
  /** The HTTP status. */
  readonly status: number
  /** Headers, its content type among them. */
  readonly headers: Readonly<Record<string, string>>
  /** The body. */
  readonly body: string | Buffer
}

/** How long a client is asked to wait while nothing can be stored, or too much waits to be. */
export const tryLaterMs = 5_000

/** Makes a refusal. */
export function refuse(code: RefusalCode, message: string, retryAfterMs?: number): Refusal {
  const refusal: Refusal = { kind: 'refused', code, message }
  return retryAfterMs === undefined ? refusal : { ...refusal, retryAfterMs }
}

/** Answers 200: clients take no other status, and no empty body, for success. */
export function success(fields: JsonObject = {}): Answer {
  return json(200, { success: true, ...fields })
}

/** Answers that calls were taken in, and which were not. */
export function taken(accepted: number, rejected: readonly RejectedCall[]): Answer {
  return json(200, { success: true, accepted, rejected: rejected.map((call) => ({ ...call })) })
}

/**
 * Answers with a refusal. Its reason stands in the three fields in which clients look for it: some
 * fail, or try again for ever, where one of them is missing.
 */
export function refusalAnswer({ code, message, retryAfterMs }: Refusal): Answer {
  const answer = json(statuses[code], { success: false, error: message, code, message })
  if (retryAfterMs === undefined) return answer
  const retryAfter = String(Math.max(1, Math.ceil(retryAfterMs / 1_000)))
  return { ...answer, headers: { ...answer.headers, 'retry-after': retryAfter } }
}

/** Answers what never became a request. */
export function faultAnswer(fault: RequestFault): Answer {
  return refusalAnswer(faultRefusals[fault])
}

const faultRefusals: Readonly<Record<RequestFault, Refusal>> = {
  malformed: refuse('invalid_request', 'The request is not valid HTTP'),
  head_too_large: refuse('invalid_request', 'The head of the request is too large'),
  too_slow: refuse('body_too_slow', 'The request did not come in time'),
}

/** Answers with a JSON document. */
export function json(status: number, document: JsonObject): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(document),
  }
}

/** Adds headers to an answer. Its own headers win. */
export function withHeaders({ status, headers, body }: Answer, more: Answer['headers']): Answer {
  // Not spread, which takes far longer on Node 20.
  return { status, headers: Object.assign({}, more, headers), body }
}

/** Sends an answer. Does nothing if the client has left or an answer was sent before. */
export function send(response: ServerResponse, answer: Answer): void {
  if (writeHead(response, answer)) response.end(answer.body)
}

/** The same while the client still writes; the connection ends after it. */
export async function sendLingering(
  response: ServerResponse,
  answer: Answer,
  clock: Clock,
): Promise<void> {
  if (!writeHead(response, withHeaders(answer, { connection: 'close' }))) return
  await endLingering(response, answer.body, clock)
}

/** At once, which is less work than to set each header before. */
function writeHead(response: ServerResponse, { status, headers, body }: Answer): boolean {
  if (response.destroyed || response.headersSent) return false
  const length = { 'content-length': Buffer.byteLength(body) }
  response.writeHead(status, Object.assign({}, headers, length))
  return true
}
