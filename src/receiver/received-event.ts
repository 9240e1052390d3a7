import type { EventType, JsonObject } from '../model/index.ts'
import type { Diagnosis } from './diagnosis/index.ts'
import type { Forwarding } from './forward.ts'
import type { MalformedCode } from './read-webhook.ts'
import type { SignatureVerdict } from './signature.ts'
import type { WithheldReason } from './withheld.ts'

/** The fields that every request has, webhook or not. */
export interface ReceivedRequest {
  /** When its head arrived, in milliseconds since 1970. */
  readonly atMs: number
  /** The method, such as `POST`. */
  readonly method: string
  /** The path with its query, as it was sent. */
  readonly path: string
  /** The headers, names in lower case; a header sent more than once has its values joined. */
  readonly headers: Readonly<Record<string, string>>
  /** The body's bytes as they came over the wire, at most 1 MB. */
  readonly rawBody: Buffer
  /** How many bytes `rawBody` has. */
  readonly bytes: number
  /** Whether the signature is right. */
  readonly signature: SignatureVerdict
  /** The mistake in words: in signature or body, or a sender that hung up; null if there is none. */
  readonly reason: string | null
  /** Why the signature does not fit, and what to do about it; null where no known mistake explains it. */
  readonly diagnosis: Diagnosis | null
  /** Which of several endpoints was asked, from 1; null where the receiver has one. */
  readonly endpoint: number | null
  /** The status of its answer; null where none was sent, or the sender did not wait for it. */
  readonly status: number | null
  /** The injected fault, such as `reset` or `delay 6s, status 503`; null if there is none. */
  readonly injected: string | null
  /** How forwarding it ended; null where it was not forwarded. */
  readonly forward: Forwarding | null
  /** Why it must not be passed on: not forwarded, not given to a program; null if it may be. */
  readonly withheld: WithheldReason | null
  /** From the arrival of its head to its answer, in milliseconds. */
  readonly durationMs: number
}

/** The content of a request that is a webhook. */
export interface WebhookContent {
  /** Tells it from a malformed request. */
  readonly kind: 'webhook'
  /** Its type. */
  readonly type: EventType
  /** Whom it is about: the user's id, on alias the id that stays; null when it has none. */
  readonly userId: string | null
  /** The parsed body. */
  readonly body: JsonObject
  /** Null: nothing is wrong with the body. */
  readonly code: null
}

/**
 * Why a request is not a webhook: its bytes, or `body_too_large` (over 1 MB), `body_too_slow` (not
 * there after 30 s), `incomplete_body` (the connection ended first), `method_not_allowed` (no POST).
 */
export type RefusalCode =
  MalformedCode | 'body_too_large' | 'body_too_slow' | 'incomplete_body' | 'method_not_allowed'

/** The same fields of a request that is no webhook. */
export interface MalformedContent {
  /** Tells it from a webhook. */
  readonly kind: 'malformed'
  /** Null: it is none of the seven. */
  readonly type: null
  /** Null: it is about no user. */
  readonly userId: null
  /** Null: its bytes are in `rawBody`. */
  readonly body: null
  /** The stable name of the mistake. */
  readonly code: RefusalCode
}

/** A request that was dealt with and has no number yet. */
export type UnnumberedEvent = ReceivedRequest & (WebhookContent | MalformedContent)

/** One request that arrived. Frozen; `seq` counts from 1 without gaps, in the order of answers. */
export type ReceivedEvent = UnnumberedEvent & { readonly seq: number }

/** The number of requests so far. Requests whose signature was not checked are in none of the last three. */
export interface ReceivedCounts {
  /** All of them. */
  readonly received: number
  /** The webhooks, with any signature. */
  readonly wellFormed: number
  /** Those that are not. */
  readonly malformed: number
  /** Those with the right signature. */
  readonly valid: number
  /** Those with a wrong signature. */
  readonly invalid: number
  /** Those without a signature although a secret is set. */
  readonly missing: number
}
