import type { BodySource } from './body-recipe.ts'
import { diagnosisOf, type Diagnosis } from './mistake.ts'

/** What a request without X-Signature has in its place; undefined where there is nothing. */
export function findElsewhere(headers: Readonly<Record<string, string>>): Diagnosis | undefined {
  const names = Object.keys(headers)
  if (names.includes('webhook-signature')) {
    const finding = 'The request is signed in the way of Standard Webhooks only'
    const fix = 'Send X-Signature too, or verify webhook-signature.'
    return diagnosisOf([{ code: 'standard_webhooks', finding, fix }])
  }
  const [name] = names.filter((other) => /(?:^|-)(?:signature|hmac)(?:-|$)/.test(other))
  if (name === undefined) return undefined
  const finding = `The signature is in the header ${name} instead of X-Signature`
  const fix = 'Send it as X-Signature: 40 lower-case hexadecimal digits of HMAC-SHA1.'
  return diagnosisOf([{ code: 'other_header', finding, fix }])
}

/** A body that is said to be compressed and is plain JSON; no known compression makes its signature. */
export function findInflated({ body, headers }: BodySource): Diagnosis | undefined {
  const encoding = headers?.['content-encoding'] ?? ''
  if (!/^(?:x-)?(?:gzip|deflate|br|zstd)$/i.test(encoding)) return undefined
  if (body.value === undefined) return undefined
  const finding = `The body is said to be compressed with ${encoding} and is not: it was inflated on the way`
  const fix = 'Verify the bytes that were sent, before anything inflates them.'
  return diagnosisOf([{ code: 'inflated', finding, fix }])
}
