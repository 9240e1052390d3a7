import type { SignatureVerdict } from '../match/index.ts'
import type { EventType, JsonObject } from '../model/index.ts'
import type { Diagnosis } from './diagnosis/index.ts'
import type { Forwarding } from './forward.ts'
import type { MalformedCode } from './read-webhook.ts'

/** Why a request must not be passed on: a page of another origin sent it, or its signature is not valid. */
export type WithheldReason = 'foreign_origin' | 'signature_not_valid'

/** The fields that every request has, webhook or not. */
export interface ReceivedRequest {
  /** When the request's headers arrived, in milliseconds since 1970. */
  readonly atMs: number
  /** The method, such as `POST`. */
  readonly method: string
  /** The path with its query, as it was sent. */
  readonly path: string
  /** The headers, names in lower case. The values of a repeated header are joined. */
  readonly headers: Readonly<Record<string, string>>
  /** The bytes of the body as they arrived, at most 1 MB. */
  readonly rawBody: Buffer
  /** The number of bytes in `rawBody`. */
  readonly bytes: number
  /** The verdict on the signature; `unchecked` if no secret is set or the body was not read completely. */
  readonly signature: SignatureVerdict
  /** What is wrong with the signature, body or path, or that the sender hung up; null if nothing is wrong. */
  readonly reason: string | null
  /** Why the signature is wrong, and what to do about it; null if it is valid, or if no known mistake explains it. */
  readonly diagnosis: Diagnosis | null
  /** The number of the endpoint that received the request, counting from 1; null if the receiver has only one. */
  readonly endpoint: number | null
  /** The status of the answer; null if none was sent, or if the sender did not wait for it. */
  readonly status: number | null
  /** The injected fault, such as `reset` or `delay 6s, status 503`; null if there is none. */
  readonly injected: string | null
  /** How forwarding the request ended; null if it was not forwarded. */
  readonly forward: Forwarding | null
  /** Why the request must not be passed on to a target or a program; null if it may be. */
  readonly withheld: WithheldReason | null
  /** Time from the arrival of the headers to the answer, in milliseconds. */
  readonly durationMs: number
}

/** The content of a request that is a webhook. For an alias, `userId` is the new id. */
export interface WebhookContent {
  readonly kind: 'webhook'
  readonly type: EventType
  readonly userId: string | null
  readonly body: JsonObject
  readonly code: null
}

/**
 * Why a request is not a webhook: what is wrong with its bytes, or `body_too_large` (over 1 MB), `body_too_slow`
 * (incomplete after 30 s), `incomplete_body` (the connection ended first) or `method_not_allowed` (not a POST).
 */
export type RefusalCode =
  MalformedCode | 'body_too_large' | 'body_too_slow' | 'incomplete_body' | 'method_not_allowed'

/** The content of a request that is not a webhook. Its bytes are in `rawBody`. */
export interface MalformedContent {
  readonly kind: 'malformed'
  readonly type: null
  readonly userId: null
  readonly body: null
  readonly code: RefusalCode
}

/** A received request that has no number yet. */
export type UnnumberedEvent = ReceivedRequest & (WebhookContent | MalformedContent)

/** A received request; frozen. `seq` counts from 1 without gaps, in the order in which requests are answered. */
export type ReceivedEvent = UnnumberedEvent & { readonly seq: number }

/** Counts of requests so far. Requests with an unchecked signature are not in `valid`, `invalid` or `missing`. */
export interface ReceivedCounts {
  /** All requests. */
  readonly received: number
  /** Webhooks, with any signature. */
  readonly wellFormed: number
  /** Requests that are not webhooks. */
  readonly malformed: number
  /** Requests with a valid signature. */
  readonly valid: number
  /** Requests with a wrong signature. */
  readonly invalid: number
  /** Requests without a signature although a secret is set. */
  readonly missing: number
}
