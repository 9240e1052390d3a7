import type { JsonObject } from '../model/index.ts'

/** The verdict on a signature; `unchecked` if no secret is set or the body was not read completely. */
export type SignatureVerdict = 'valid' | 'invalid' | 'missing' | 'unchecked'

/** The words for the verdicts in a list of requests, in the order of the documentation. */
export const signatureWords: Readonly<Record<SignatureVerdict, string>> = Object.freeze({
  valid: 'valid',
  invalid: 'wrong',
  missing: 'missing',
  unchecked: 'unchecked',
})

/** All verdicts, in the order of the documentation. */
export const signatureVerdicts: readonly SignatureVerdict[] = Object.freeze(
  Object.keys(signatureWords) as SignatureVerdict[],
)

/** The parts of a received request that a match reads. Every event of a receiver has these parts. */
export interface Subject {
  /** The parsed body; null if the request is not a webhook. */
  readonly body: JsonObject | null
  readonly signature: SignatureVerdict
  /** The status of the receiver's answer; null without an answer. */
  readonly status: number | null
  /** The path with its query, as sent. */
  readonly path: string
  readonly bytes: number
  /** When the request arrived, in milliseconds since 1970. */
  readonly atMs: number
  /** What is wrong with the request; null if nothing is wrong. Undefined if the subject is an event, not a request. */
  readonly reason?: string | null
  /** The answer of the server to which the request was forwarded; null if it was not forwarded. */
  readonly forward?: { readonly status: number | null; readonly error: string | null } | null
}
