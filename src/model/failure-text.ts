/** Descriptions of error codes from the operating system, OpenSSL and evroute. */
const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was reset',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the name server did not answer',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'the connection took too long',
  EMFILE: 'too many open files',
  EADDRNOTAVAIL: 'no local port is free',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'self-signed certificate',
  SELF_SIGNED_CERT_IN_CHAIN: 'self-signed certificate in the chain',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  CERT_NOT_YET_VALID: 'the certificate is not valid yet',
  CERT_REVOKED: 'the certificate was revoked',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for a different host',
  HOSTNAME_MISMATCH: 'the certificate is for a different host',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the issuer of the certificate is unknown',
  UNABLE_TO_GET_ISSUER_CERT: 'the issuer of the certificate is unknown',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the issuer of the certificate is unknown',
  ERR_SSL_WRONG_VERSION_NUMBER: 'that port speaks http, not https',
  EPROTO: 'that port speaks http, not https',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'the versions of TLS do not match',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'the versions of TLS do not match',
  timeout: 'no answer in time',
  connection_closed: 'the connection was closed without an answer; that port may speak https',
  malformed_answer:
    'the answer is not HTTP, or begins with an unexpected 100 or 101; that port may speak https',
  answer_head_too_large: 'the status line and headers of the answer are too large',
  connection_failed: 'the connection failed',
  window_over: 'the retry window has ended',
  breaker_open: 'the endpoint was down for the whole retry window',
  abandoned: 'never tried',
  backlog_full: 'the backlog is full',
  no_endpoint_left: 'no endpoint can take it any more',
  discarded: 'discarded by hand',
  erased: 'its user was deleted',
}

/** Describes an error code, and appends the code: `connection refused (ECONNREFUSED)`. */
export function failureText(code: string): string {
  const known = code.replace(/^proxy_/, '')
  return Object.hasOwn(words, known) ? `${failureWords(code)} (${known})` : failureWords(code)
}

/** Describes an error code without appending it: `connection refused`. */
export function failureWords(code: string): string {
  const status = /^status_(\d+)$/.exec(code)?.[1]
  if (status !== undefined) return `answered ${status}`
  if (code.startsWith('proxy_')) {
    return `forward proxy: ${failureWords(code.slice('proxy_'.length))}`
  }
  return Object.hasOwn(words, code) ? (words[code] ?? '') : code
}
