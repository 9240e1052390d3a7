import {
  AddressRefusedError,
  failureText,
  messageOf,
  parseRetryAfter,
  systemCode,
  type RequestVerdict,
} from '../model/index.ts'

/** How one request to an endpoint ended. */
export type RequestOutcome =
  | {
      /** Status line and headers arrived in time. The body may be cut off. */
      readonly kind: 'answered'
      readonly status: number
      readonly retryAfter: string | undefined
      /** The first 4 KB of the answer's body. */
      readonly excerpt: string
    }
  /** No answer within the deadline. */
  | { readonly kind: 'timeout' }
  /**
   * - `certificate_refused`: the endpoint's certificate is not trusted; no request was sent
   * - `address_refused`: the endpoint's address is forbidden; no connection was made
   * - `connection_failed`: name resolution, connection or protocol failed
   * - `shortage`: this machine ran out of a resource such as file descriptors. The endpoint may be healthy
   */
  | {
      readonly kind: 'certificate_refused' | 'address_refused' | 'connection_failed' | 'shortage'
      readonly code: string
      readonly message: string
    }
  /** The sender was closed. This says nothing about the endpoint. */
  | { readonly kind: 'interrupted' }

/** How an outcome affects its delivery. */
export interface Judgement {
  readonly verdict: RequestVerdict
  /** The answer's status; null without an answer. */
  readonly status: number | null
  /**
   * Why the request failed: `status_<n>`, `timeout`, `interrupted`, `connection_closed`, `malformed_answer`,
   * `answer_head_too_large`, the kind of forbidden address such as `private_address`, or a system code such as
   * `ECONNREFUSED`. The prefix `proxy_` means that the forward proxy failed for this reason. Null on success.
   */
  readonly error: string | null
}

/** Statuses that are retried in addition to 5xx. */
const retriedStatuses = new Set([408, 425, 429])

/**
 * Decides by the specification's error table whether a request succeeded, is retried, or failed for good. A forbidden
 * address and an untrusted certificate are final: only the operator can fix them, and hours of retries would hide the
 * problem.
 *
 * @param alsoRetried - more statuses to retry, from the destination's settings
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

/** Whether the endpoint answered 429: it is up, but asks for fewer requests and did not process the webhook. */
export function isThrottled(outcome: RequestOutcome): boolean {
  return outcome.kind === 'answered' && outcome.status === 429
}

/** Reads Retry-After, as milliseconds from now; undefined without one. */
export function retryAfterMsOf(outcome: RequestOutcome, nowMs: number): number | undefined {
  return outcome.kind === 'answered' ? parseRetryAfter(outcome.retryAfter, nowMs) : undefined
}

/** Whether this process or machine made a request fail. The request then doesn't count as an attempt. */
export function isOurs({ kind }: RequestOutcome): boolean {
  return kind === 'interrupted' || kind === 'shortage'
}

function judgeStatus(status: number, alsoRetried?: readonly number[]): Judgement {
  if (status >= 200 && status < 300) return { verdict: 'success', status, error: null }
  const again =
    (status >= 500 && status < 600) ||
    retriedStatuses.has(status) ||
    alsoRetried?.includes(status) === true
  return { verdict: again ? 'retry' : 'final', status, error: `status_${status}` }
}

/** Error codes from Node and OpenSSL for certificates that must not be trusted. */
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
  // OpenSSL's code for every other reason, such as a weak digest or key.
  'UNSPECIFIED',
])

/** undici's error codes for malformed answers. Its parser's errors are recognised by name: some have no code. */
const malformedAnswerCodes = new Set([
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_RES_EXCEEDED_MAX_SIZE',
  // Some answers make an assertion in undici fail, such as one with the status 000.
  'ERR_ASSERTION',
])

/** undici's messages when it closes a connection because of an unexpected answer. */
const refusals = new Set(['bad response', 'bad upgrade'])

/** System error codes for a lack of file descriptors, memory or local ports. */
const shortageCodes = new Set([
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'ENOBUFS',
  'EADDRNOTAVAIL',
  'EAI_MEMORY',
])

/** A forward proxy could not be reached, or did not open a tunnel to the endpoint. */
export class ProxyError extends Error {
  override readonly name: string = 'ProxyError'
  /** `proxy_` and the reason, such as `proxy_status_407`. */
  readonly code: string

  /**
   * @param host - the proxy's host and port, without credentials
   * @param cause - a reason such as `status_407`, or the error of the connection to the proxy
   */
  constructor(host: string, cause: unknown) {
    const reason = typeof cause === 'string' ? cause : failureCode(cause)
    super(`The proxy ${host} did not open a tunnel: ${failureText(reason)}`)
    this.code = `proxy_${reason}`
  }
}

/** Classifies the error of a request that got no answer. */
export function failureOutcome(error: unknown): RequestOutcome {
  const code = failureCode(error)
  const message = messageOf(error)
  if (error instanceof AddressRefusedError) return { kind: 'address_refused', code, message }
  if (isShortage(error)) return { kind: 'shortage', code, message }
  if (certificateCodes.has(code)) return { kind: 'certificate_refused', code, message }
  return { kind: 'connection_failed', code, message }
}

/** Whether this machine ran out of a resource. If several addresses were tried, each must have failed that way. */
export function isShortage(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isShortage)
  const code = systemCode(error) ?? ''
  // For an IPv6 address, EADDRNOTAVAIL means that the machine has no IPv6, not that it ran out of ports.
  const isUnreachable = code === 'EADDRNOTAVAIL' && addressOf(error).includes(':')
  return shortageCodes.has(code) && !isUnreachable
}

function addressOf(error: unknown): string {
  return String((error as { readonly address?: unknown }).address)
}

/** Returns the system's error code, or evroute's own code for an error from the HTTP library. */
function failureCode(error: unknown): string {
  const code = systemCode(error) ?? 'connection_failed'
  if (code === 'UND_ERR_SOCKET') {
    return refusals.has(messageOf(error)) ? 'malformed_answer' : 'connection_closed'
  }
  if (code === 'UND_ERR_HEADERS_OVERFLOW' || code === 'HPE_HEADER_OVERFLOW')
    return 'answer_head_too_large'
  const isOfParser = error instanceof Error && error.name === 'HTTPParserError'
  return isOfParser || code.startsWith('HPE_') || malformedAnswerCodes.has(code)
    ? 'malformed_answer'
    : code
}
