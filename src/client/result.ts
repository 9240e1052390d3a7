import type { CallType, RejectionCode } from '../model/index.ts'

/**
 * Why a call was not queued: the code of a fault in the call, or
 *
 * - `event_too_large`: over 32 KB as JSON
 * - `queue_full`: `queueMax` calls are queued or in flight
 * - `closed`: the client was closed
 */
export type EnqueueRefusalCode = RejectionCode | 'queue_full' | 'closed'

/** The immediate result of recording a call. */
export type EnqueueResult =
  /** The call will end in exactly one {@link CallResult}. */
  | { readonly status: 'queued'; readonly messageId: string }
  | { readonly status: 'refused'; readonly code: EnqueueRefusalCode; readonly message: string }
  /** The client was made with `disabled: true`. */
  | { readonly status: 'disabled' }

/** A call that the endpoint accepted. */
export interface DeliveredCall {
  readonly status: 'delivered'
  readonly messageId: string
  readonly type: CallType
}

/**
 * A call that was queued and not delivered. The code is the endpoint's own if it gave one, or
 *
 * - `http_<status>`: the endpoint refused the batch with this status
 * - `event_too_large`: the call is too large for the endpoint, even as the only one in a batch
 * - `retries_exhausted`: the last of 10 attempts failed; the message says why
 * - `close_timeout`: the client was closed before the endpoint answered; the endpoint may have accepted the call
 * - `internal`: the transport threw an error
 */
export interface FailedCall {
  readonly status: 'failed'
  readonly messageId: string
  readonly type: CallType
  /** The serialised call. `client.enqueue(JSON.parse(json))` records it again. */
  readonly json: string
  /** The stable name of the reason. */
  readonly code: string
  /** The reason in words. */
  readonly message: string
  /** The number of requests with the call; 0 if it was never sent. */
  readonly attempts: number
}

/** How a queued call ended. Every queued call has exactly one result. */
export type CallResult = DeliveredCall | FailedCall

/** A planned retry of a batch. */
export interface BatchRetry {
  readonly callCount: number
  /** The number of the failed attempt, from 1. */
  readonly attempt: number
  /** The wait before the next attempt. */
  readonly delayMs: number
  readonly reason: string
}

/** The counts of a client's calls. `queued` is the sum of `delivered` and `failed`. */
export interface CloseReport {
  readonly queued: number
  readonly delivered: number
  readonly failed: number
  readonly refused: number
  /**
   * The failed calls, oldest first. Every call that failed after `close()` was called is in the list. Of the calls that
   * failed before, it contains only the newest: at most `queueMax` calls and 16 MB of JSON.
   */
  readonly undelivered: readonly FailedCall[]
  /** The number of older failed calls that are not listed. The event `failed` reported them. */
  readonly undeliveredOmitted: number
}
