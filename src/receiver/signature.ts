import { checkSignature } from '../webhook/index.ts'

/** Whether a webhook's signature is right; `unchecked` when there was nothing to check it with. */
export type SignatureVerdict = 'valid' | 'invalid' | 'missing' | 'unchecked'

/** A verdict on a signature, and in words what is wrong with it. */
export type SignatureJudgement =
  | { readonly verdict: 'valid' | 'unchecked'; readonly reason: null }
  | { readonly verdict: 'invalid' | 'missing'; readonly reason: string }

/** The judgement where no secret is set, or where the body that was signed did not arrive whole. */
export const uncheckedSignature: SignatureJudgement = Object.freeze({
  verdict: 'unchecked',
  reason: null,
})

/** Compares the `X-Signature` of a request with the bytes that arrived. */
export function judgeSignature(
  rawBody: Buffer,
  header: string | undefined,
  secret: string,
): SignatureJudgement {
  switch (checkSignature(rawBody, header, secret)) {
    case 'valid':
      return { verdict: 'valid', reason: null }
    case 'missing':
      return { verdict: 'missing', reason: 'The request has no X-Signature header' }
    case 'malformed':
      return { verdict: 'invalid', reason: malformedReason(header ?? '') }
    case 'mismatch':
      return {
        verdict: 'invalid',
        reason: 'X-Signature was made with another secret or over other bytes',
      }
  }
}

function malformedReason(header: string): string {
  return `X-Signature is not 40 lower-case hexadecimal digits: ${flaw(header)}`
}

function flaw(header: string): string {
  if (header.length !== 40) return `it has ${header.length} characters`
  return /^[0-9a-f]*$/i.test(header) ? 'some are upper-case' : 'some are not hexadecimal'
}
