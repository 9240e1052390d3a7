import type { JsonObject } from '../model/index.ts'

/** The result of checking a request's signature. */
export type SubjectSignature = 'valid' | 'invalid' | 'missing' | 'unchecked'

/** The verdicts on a signature, in the order of the documentation. */
export const subjectSignatures: readonly SubjectSignature[] = Object.freeze([
  'valid',
  'invalid',
  'missing',
  'unchecked',
])

/** The words for these verdicts in a list of requests. */
export const signatureWords: Readonly<Record<SubjectSignature, string>> = Object.freeze({
  valid: 'valid',
  invalid: 'wrong',
  missing: 'missing',
  unchecked: 'unchecked',
})

/** The parts of a received request that a match reads. Every event of a receiver has them. */
export interface Subject {
  /** The parsed body; null if the request is not a webhook. */
  readonly body: JsonObject | null
  /** The verdict on the signature. */
  readonly signature: SubjectSignature
  /** The status of the answer; null if there was no answer. */
  readonly status: number | null
  /** The path with its query, as it was sent. */
  readonly path: string
  /** The number of bytes of the body. */
  readonly bytes: number
  /** When the request arrived, in milliseconds since 1970. */
  readonly atMs: number
  /** What is wrong with the request; null for nothing, undefined for an event that was not received. */
  readonly reason?: string | null
  /** The answer of the server to which the request was forwarded; null if it was not forwarded. */
  readonly forward?: { readonly status: number | null; readonly error: string | null } | null
}
