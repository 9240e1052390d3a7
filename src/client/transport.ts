/** A batch as it is sent. */
export interface EncodedBatch {
  /** The request's body: `{"batch":[...],"sentAt":"...","writeKey":"..."}`. */
  readonly body: string
  /** Calls in the batch. */
  readonly callCount: number
}

/**
 * A call of a batch that was refused while the others were taken: named by its place, or where that
 * is none of the batch's by its messageId. One that is named by neither is ignored, with a warning.
 */
export interface RejectedCall {
  /** Its place in the batch, from 0. */
  readonly index?: number | undefined
  /** Its messageId. */
  readonly messageId?: string | undefined
  /** The stable name of the reason. */
  readonly code: string
  /** The reason in words. */
  readonly message: string
}

/** How one try to send a batch ended. */
export type TransportOutcome =
  /** Taken, but for the calls that are listed. */
  | { readonly kind: 'accepted'; readonly rejected: readonly RejectedCall[] }
  /** Not taken for a reason that may pass; `afterMs` is the least time to wait, where it is known. */
  | { readonly kind: 'retry'; readonly reason: string; readonly afterMs?: number }
  /** Too many bytes in one request: smaller batches may be taken. */
  | { readonly kind: 'too_large'; readonly reason: string }
  /** Not taken, and never will be. */
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }

/** Sends the batches of a client. */
export interface Transport {
  /**
   * Sends a batch once; the client decides about retries. Failures are outcomes: a promise that rejects
   * counts as refused with the code `internal`.
   *
   * A transport holds the clock while it waits for the network, but not while it waits for other parts of the
   * program, which may need the clock.
   *
   * @param signal - aborts when the client waits no longer; it serves later batches too, so a listener must
   * be removed when its `send` ends
   */
  send(batch: EncodedBatch, signal: AbortSignal): Promise<TransportOutcome>
  /** Frees its resources. It is called once, after the last `send`. */
  close(): Promise<void>
}
