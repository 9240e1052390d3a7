import type { CallType, RejectionCode } from '../model/index.ts'

/**
 * Why a call was not queued: the code of a mistake in the call, or
 *
 * - `event_too_large`: over 32 KB as JSON
 * - `queue_full`: as many calls as `queueMax` allows are queued or in flight
 * - `closed`: the client was closed
 */
export type EnqueueRefusalCode = RejectionCode | 'queue_full' | 'closed'

/** The answer to a call, given at once. */
export type EnqueueResult =
  /** The call will end in exactly one {@link CallResult}. */
  | { readonly status: 'queued'; readonly messageId: string }
  /** Nothing was queued; other calls are not affected. */
  | { readonly status: 'refused'; readonly code: EnqueueRefusalCode; readonly message: string }
  /** The client was made with `disabled: true`. */
  | { readonly status: 'disabled' }

/** A call that the endpoint took. */
export interface DeliveredCall {
  /** Tells it from a failed one. */
  readonly status: 'delivered'
  /** Identifies the call. */
  readonly messageId: string
  /** Its type. */
  readonly type: CallType
}

/**
 * A call that was queued and could not be delivered. The codes are the endpoint's own where it gave
 * one, and
 *
 * - `http_<status>`: the endpoint refused the batch with this status
 * - `event_too_large`: the endpoint found the call alone too large
 * - `retries_exhausted`: the last of 10 tries failed; the message says why
 * - `close_timeout`: the client was closed before the endpoint answered; it may have been taken
 * - `internal`: the transport failed in a way that it should not
 */
export interface FailedCall {
  /** Tells it from a delivered one. */
  readonly status: 'failed'
  /** Identifies the call. */
  readonly messageId: string
  /** Its type. */
  readonly type: CallType
  /** The call as JSON, as it was sent or would have been: `client.enqueue(JSON.parse(json))` repeats it. */
  readonly json: string
  /** The stable name of the reason. */
  readonly code: string
  /** The reason in words. */
  readonly message: string
  /** Requests that carried the call: 0 when it was never sent. */
  readonly attempts: number
}

/** How a queued call ended. Every queued call ends in exactly one. */
export type CallResult = DeliveredCall | FailedCall

/** A batch that is tried again. */
export interface BatchRetry {
  /** Calls in the batch. */
  readonly callCount: number
  /** The number of the try that failed, from 1. */
  readonly attempt: number
  /** The wait before the next try, in milliseconds. */
  readonly delayMs: number
  /** Why the try failed. */
  readonly reason: string
}

/** What became of a client's calls: `queued = delivered + failed`, always. */
export interface CloseReport {
  /** Calls that were queued. */
  readonly queued: number
  /** Of those queued, delivered. */
  readonly delivered: number
  /** Of those queued, not delivered. */
  readonly failed: number
  /** Calls that were refused, and so never queued. */
  readonly refused: number
  /**
   * The calls that failed, oldest first: all that fail after `close()` was called, and of those that
   * failed before it the newest, at most `queueMax` and 16 MB of JSON.
   */
  readonly undelivered: readonly FailedCall[]
  /** Older failed calls that are not listed. The event `failed` reported them. */
  readonly undeliveredOmitted: number
}
