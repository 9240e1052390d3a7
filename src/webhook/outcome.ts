import {
  AddressRefusedError,
  messageOf,
  parseRetryAfter,
  systemCode,
  type RequestVerdict,
} from '../model/index.ts'

/** How one request to an endpoint ended. */
export type RequestOutcome =
  | {
      /** A status line with its headers arrived in time; the body may be cut. */
      readonly kind: 'answered'
      /** The HTTP status. */
      readonly status: number
      /** The value of `Retry-After`. */
      readonly retryAfter: string | undefined
      /** The first 4 KB of the answer's body. */
      readonly excerpt: string
    }
  /** No answer within the deadline. */
  | { readonly kind: 'timeout' }
  /**
   * - `certificate_refused`: the endpoint's certificate is not trusted; no request was sent
   * - `address_refused`: the service does not send to the endpoint's address; no connection was made
   * - `connection_failed`: name resolution, connection or protocol failed
   * - `shortage`: this machine has run out of something, for example file descriptors. The endpoint may be healthy
   */
  | {
      readonly kind: 'certificate_refused' | 'address_refused' | 'connection_failed' | 'shortage'
      readonly code: string
      readonly message: string
    }
  /** Cut off by our own side, which closed the sender: says nothing about the endpoint. */
  | { readonly kind: 'interrupted' }

/** The meaning of an outcome for its delivery. */
export interface Judgement {
  /** Whether to ask this endpoint again. */
  readonly verdict: RequestVerdict
  /** The answer's status; null when there was none. */
  readonly status: number | null
  /**
   * Why the request failed: `status_<n>`, `timeout`, `interrupted`, `connection_closed`, `malformed_answer`,
   * the kind of refused address such as `private_address`, or the system's code such as `ECONNREFUSED`. Null
   * on success.
   */
  readonly error: string | null
}

/** The answers besides 5xx that ask for another try. */
const retriedStatuses = new Set([408, 425, 429])

/**
 * Decides the meaning of an outcome by the specification's table of errors.
 *
 * A refused address is final, like a refused certificate. The operator has to fix both, and hours of retries
 * would hide the problem. The name of an endpoint may point elsewhere a minute later; deliveries that failed
 * until then can be retried by hand.
 *
 * @param alsoRetried - statuses that the operator of the destination has retried too
 */
export function judge(outcome: RequestOutcome, alsoRetried?: readonly number[]): Judgement {
  switch (outcome.kind) {
    case 'answered':
      return judgeStatus(outcome.status, alsoRetried)
    case 'timeout':
    case 'interrupted':
      return { verdict: 'retry', status: null, error: outcome.kind }
    case 'certificate_refused':
    case 'address_refused':
      return { verdict: 'final', status: null, error: outcome.code }
    case 'connection_failed':
    case 'shortage':
      return { verdict: 'retry', status: null, error: outcome.code }
  }
}

/** Whether the endpoint asks for fewer requests. It is up, and has not looked at the webhook. */
export function isThrottled(outcome: RequestOutcome): boolean {
  return outcome.kind === 'answered' && outcome.status === 429
}

/** How long an endpoint wants to be left alone, in milliseconds; undefined when it does not say. */
export function retryAfterMsOf(outcome: RequestOutcome, nowMs: number): number | undefined {
  return outcome.kind === 'answered' ? parseRetryAfter(outcome.retryAfter, nowMs) : undefined
}

/** Whether a request did not reach the endpoint through a fault of ours: it is no attempt. */
export function isOurs({ kind }: RequestOutcome): boolean {
  return kind === 'interrupted' || kind === 'shortage'
}

function judgeStatus(status: number, alsoRetried?: readonly number[]): Judgement {
  if (status >= 200 && status < 300) return { verdict: 'success', status, error: null }
  const again =
    status >= 500 || retriedStatuses.has(status) || alsoRetried?.includes(status) === true
  return { verdict: again ? 'retry' : 'final', status, error: `status_${status}` }
}

/** Codes of Node and OpenSSL for certificates that must not be trusted. */
const certificateCodes = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_DECRYPT_CERT_SIGNATURE',
  'UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_TLS_CERT_ALTNAME_FORMAT',
  'HOSTNAME_MISMATCH',
  'CERT_SIGNATURE_FAILURE',
  'CERT_NOT_YET_VALID',
  'CERT_HAS_EXPIRED',
  'CERT_CHAIN_TOO_LONG',
  'CERT_REVOKED',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'ERROR_IN_CERT_NOT_BEFORE_FIELD',
  'ERROR_IN_CERT_NOT_AFTER_FIELD',
  // All other verdicts of OpenSSL, such as a weak digest or key.
  'UNSPECIFIED',
])

/** What undici calls an answer that is none, beside the errors of its parser, which have a name only. */
const malformedAnswerCodes = new Set([
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_RES_EXCEEDED_MAX_SIZE',
  // undici considers some answers impossible, such as one with the status 000.
  'ERR_ASSERTION',
])

/** undici's message when it closes a connection because of an unexpected answer. */
const refusals = new Set(['bad response', 'bad upgrade'])

/** The system's codes for a lack of descriptors, memory or local ports. */
const shortageCodes = new Set([
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'ENOBUFS',
  'EADDRNOTAVAIL',
  'EAI_MEMORY',
])

/** Tells our own shortages, refused addresses and refused certificates from other failures. */
export function failureOutcome(error: unknown): RequestOutcome {
  const code = failureCode(error)
  const message = messageOf(error)
  if (error instanceof AddressRefusedError) return { kind: 'address_refused', code, message }
  if (isShortage(error)) return { kind: 'shortage', code, message }
  if (certificateCodes.has(code)) return { kind: 'certificate_refused', code, message }
  return { kind: 'connection_failed', code, message }
}

/**
 * Whether our own machine lacks something. Where several addresses were tried, that must have been the
 * reason for all of them.
 */
export function isShortage(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isShortage)
  const code = systemCode(error) ?? ''
  // On a machine without IPv6 this says that the address cannot be reached, not that ports are used up.
  const isUnreachable = code === 'EADDRNOTAVAIL' && addressOf(error).includes(':')
  return shortageCodes.has(code) && !isUnreachable
}

function addressOf(error: unknown): string {
  return String((error as { readonly address?: unknown }).address)
}

/** The system's name where there is one, our own for what only the HTTP library sees. */
function failureCode(error: unknown): string {
  const code = systemCode(error) ?? 'connection_failed'
  if (code === 'UND_ERR_SOCKET') {
    return refusals.has(messageOf(error)) ? 'malformed_answer' : 'connection_closed'
  }
  const isOfParser = error instanceof Error && error.name === 'HTTPParserError'
  return isOfParser || malformedAnswerCodes.has(code) ? 'malformed_answer' : code
}
