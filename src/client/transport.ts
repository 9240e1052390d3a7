/** A batch as the body of a request. */
export interface EncodedBatch {
  /** The request's body: `{"batch":[...],"sentAt":"...","writeKey":"..."}`. */
  readonly body: string
  readonly callCount: number
}

/**
 * A rejected call of a batch, identified by `index` or else by `messageId`. The client warns if the batch has no such
 * call.
 */
export interface RejectedCall {
  /** The call's position in the batch, from 0. */
  readonly index?: number | undefined
  readonly messageId?: string | undefined
  /** The stable name of the reason. */
  readonly code: string
  /** The reason in words. */
  readonly message: string
}

/** How an attempt to send a batch ended. */
export type TransportOutcome =
  /** The batch was accepted, except for the rejected calls. `isWebPage` makes the client warn of a wrong URL. */
  | {
      readonly kind: 'accepted'
      readonly rejected?: readonly RejectedCall[] | undefined
      readonly isWebPage?: boolean
    }
  /** The failure may be temporary. `afterMs` is the minimum wait before a retry, if known. */
  | { readonly kind: 'retry'; readonly reason: string; readonly afterMs?: number | undefined }
  /** The request was too large. Smaller batches may be accepted. */
  | { readonly kind: 'too_large'; readonly reason: string }
  /** The batch was refused for good. */
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }

/** Sends the batches of a client. */
export interface Transport {
  /**
   * Sends a batch once; the client decides about retries. Resolve with an outcome even after a failure. If the promise
   * rejects, the calls of the batch fail with the code `internal`.
   *
   * Call the clock's `hold` while the transport waits for the network, so that a virtual clock doesn't advance. Don't
   * hold the clock while the transport waits for other parts of the program: they may need the clock to advance.
   *
   * @param signal - aborts when the client stops waiting. Later batches get the same signal, so remove listeners when
   * `send` ends
   */
  send(batch: EncodedBatch, signal: AbortSignal): Promise<TransportOutcome>
  /** Frees the transport's resources. The client calls it once, after the last `send`. */
  close(): Promise<void>
}
