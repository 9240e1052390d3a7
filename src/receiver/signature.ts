import { checkSignature, type SignatureCheck } from '../webhook/index.ts'
import {
  Diagnostician,
  inflationHint,
  type Diagnosis,
  type Secrets,
  type SuspectRequest,
} from './diagnosis/index.ts'

/** Whether a webhook's signature is right; `unchecked` when there was nothing to check it with. */
export type SignatureVerdict = 'valid' | 'invalid' | 'missing' | 'unchecked'

/** A verdict on a signature, and the mistake in words. */
export type SignatureJudgement =
  | {
      readonly verdict: 'valid' | 'unchecked'
      readonly reason: null
      readonly diagnosis: null
    }
  | {
      readonly verdict: 'invalid' | 'missing'
      readonly reason: string
      /** The mistake that explains it; null where no known one does. */
      readonly diagnosis: Diagnosis | null
    }

/** The judgement where no secret is set, or where the body that was signed did not arrive whole. */
export const uncheckedSignature: SignatureJudgement = Object.freeze({
  verdict: 'unchecked',
  reason: null,
  diagnosis: null,
})

/** Compares the `X-Signature` of requests with the bytes that arrived, and says why it does not fit. */
export class SignatureJudge {
  readonly #secret: string
  readonly #diagnostician: Diagnostician

  /** @param secrets - the shared secret, and others that may be used by mistake */
  constructor(secrets: Secrets) {
    this.#secret = secrets.secret
    this.#diagnostician = new Diagnostician(secrets)
  }

  /**
   * Compares the `X-Signature` of a request with the bytes that arrived.
   *
   * @param nowMs - milliseconds since 1970
   */
  judge(request: SuspectRequest, nowMs: number): SignatureJudgement {
    const { body, signature } = request
    const check = checkSignature(body, signature, this.#secret)
    if (check === 'valid') return { verdict: 'valid', reason: null, diagnosis: null }
    const diagnosis = this.#diagnostician.diagnose(request, nowMs) ?? null
    const reason = diagnosis?.message ?? reasons[check](request)
    return { verdict: check === 'missing' ? 'missing' : 'invalid', reason, diagnosis }
  }
}

const reasons: Readonly<
  Record<Exclude<SignatureCheck, 'valid'>, (request: SuspectRequest) => string>
> = {
  missing: () => 'The request has no X-Signature header',
  malformed: ({ signature = '' }) => malformedReason(signature),
  mismatch: mismatchReason,
}

function mismatchReason(request: SuspectRequest): string {
  const hint = inflationHint(request)
  const reason = 'X-Signature was made with another secret or over other bytes'
  return hint === undefined ? reason : `${reason}; ${hint}`
}

function malformedReason(header: string): string {
  return `X-Signature is not 40 lower-case hexadecimal digits: ${flaw(header)}`
}

function flaw(header: string): string {
  if (header.length !== 40) return `it has ${header.length} characters`
  return /^[0-9a-f]*$/i.test(header) ? 'some are upper-case' : 'some are not hexadecimal'
}
