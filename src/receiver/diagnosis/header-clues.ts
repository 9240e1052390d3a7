import { diagnosisOf, type Diagnosis } from './mistake.ts'
import { SuspectBody, type SuspectRequest } from './suspect.ts'

/** Looks for a signature in the other headers of a request without X-Signature; undefined if there is none. */
export function findElsewhere(headers: Readonly<Record<string, string>>): Diagnosis | undefined {
  const names = Object.keys(headers)
  if (names.includes('webhook-signature')) {
    const finding = 'The request has only the signature of Standard Webhooks'
    const fix = 'Send X-Signature too, or verify webhook-signature instead.'
    return diagnosisOf([{ code: 'standard_webhooks', finding, fix }])
  }
  const [name] = names.filter(
    (other) => other !== 'x-signature' && /(?:^|-)(?:signature|hmac)(?:-|$)/.test(other),
  )
  if (name === undefined) return undefined
  const finding = `The signature is in the header ${name} instead of X-Signature`
  const fix = 'Send it as X-Signature: 40 lower-case hexadecimal digits of HMAC-SHA1.'
  return diagnosisOf([{ code: 'other_header', finding, fix }])
}

/**
 * Returns a hint if a body is plain JSON although its headers say that it is compressed. It is not a diagnosis, because
 * the compressed bytes cannot be reproduced to check the signature.
 */
export function inflationHint({ body, headers }: SuspectRequest): string | undefined {
  const encoding = headers?.['content-encoding'] ?? ''
  if (!/^(?:x-)?(?:gzip|deflate|br|zstd)$/i.test(encoding)) return undefined
  if (new SuspectBody(body).value === undefined) return undefined
  return `Content-Encoding is ${encoding}, but the body is not compressed`
}
