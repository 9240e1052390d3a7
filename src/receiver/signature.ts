import { checkSignature, type SignatureCheck } from '../webhook/index.ts'
import {
  Diagnostician,
  SuspectBody,
  type Diagnosis,
  type Secrets,
  type SuspectRequest,
} from './diagnosis/index.ts'

/** A verdict on a signature, and the explanation. */
export type SignatureJudgement =
  | { readonly verdict: 'valid' | 'unchecked'; readonly reason: null; readonly diagnosis: null }
  | {
      readonly verdict: 'invalid' | 'missing'
      readonly reason: string
      /** The mistake that made the signature wrong; null if it is not a known one. */
      readonly diagnosis: Diagnosis | null
    }

/** The judgement if no secret is set, or if the body was not read completely. */
export const uncheckedSignature: SignatureJudgement = Object.freeze({
  verdict: 'unchecked',
  reason: null,
  diagnosis: null,
})

/** Verifies the `X-Signature` of a request against the bytes that arrived, and explains a wrong one. */
export type SignatureJudge = (request: SuspectRequest, nowMs: number) => SignatureJudgement

/** Makes a judge from the shared secret and the secrets that a sender may use by mistake. */
export function signatureJudge(secrets: Secrets): SignatureJudge {
  const diagnostician = new Diagnostician(secrets)
  return (request, nowMs) => {
    const check = checkSignature(request.body, request.signature, secrets.secret)
    if (check === 'valid') return { verdict: 'valid', reason: null, diagnosis: null }
    const diagnosis = diagnostician.diagnose(request, nowMs) ?? null
    const reason = diagnosis?.message ?? reasons[check](request)
    return { verdict: check === 'missing' ? 'missing' : 'invalid', reason, diagnosis }
  }
}

const reasons: Readonly<
  Record<Exclude<SignatureCheck, 'valid'>, (request: SuspectRequest) => string>
> = {
  missing: ({ signature }) =>
    signature === undefined ? 'The request has no X-Signature header' : 'X-Signature is empty',
  malformed: ({ signature = '' }) =>
    `X-Signature is not 40 lower-case hexadecimal digits: ${flaw(signature)}`,
  mismatch: (request) => {
    const hint = inflationHint(request)
    const reason = 'X-Signature was made with a different secret or over different bytes'
    return hint === undefined ? reason : `${reason}; ${hint}`
  },
}

function flaw(header: string): string {
  if (header.length !== 40) return `it has ${header.length} characters`
  return /^[0-9a-f]*$/i.test(header) ? 'some are upper-case' : 'some are not hexadecimal'
}

/** Returns a hint if a body is plain JSON despite its Content-Encoding: the signed bytes may have been compressed. */
function inflationHint({ body, headers }: SuspectRequest): string | undefined {
  const encoding = headers?.['content-encoding'] ?? ''
  if (!/^(?:x-)?(?:gzip|deflate|br|zstd)$/i.test(encoding)) return undefined
  if (new SuspectBody(body).value === undefined) return undefined
  return `Content-Encoding is ${encoding}, but the body is not compressed`
}
