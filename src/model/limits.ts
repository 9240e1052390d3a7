/** The limits of the specification and of the tracking protocol, in one place. */
export const limits: {
  /** UTF-8 bytes of one call as it is sent. */
  readonly callBytesMax: number
  /** Characters of a messageId, in UTF-16 code units: a key that every store can index. */
  readonly messageIdLengthMax: number
  /** UTF-8 bytes of one batch request that the client makes, envelope and commas included. */
  readonly batchBytesMax: number
  /** Objects and arrays inside one another in a field of a call: what readers in every language take. */
  readonly callNestingMax: number
  /**
   * Bytes of one batch that the tracking API accepts, inflated. Other clients send up to 512,000, more than
   * ours, and lose refused batches.
   */
  readonly intakeBatchBytesMax: number
  /** Events in one batch that intake takes. */
  readonly intakeBatchEventsMax: number
  /**
   * Bytes of one batch's context and integrations, times its events: so much is put under all of them.
   * Clients send 100 events with 4 KB, or the name of a library with 2,500, and are far below it.
   */
  readonly intakeBatchMergedBytesMax: number
  /** Endpoints of one destination. */
  readonly endpointsMax: number
  /** Time an endpoint has to answer: connect, headers and body together. */
  readonly endpointDeadlineMs: number
  /** From a delivery's first attempt to the last moment another may start. */
  readonly retryWindowMs: number
  /** Age from which an event counts as historical. */
  readonly historicalAgeMs: number
  /** Bytes of one webhook that the receiver takes. */
  readonly webhookBytesMax: number
} = Object.freeze({
  callBytesMax: 32 * 1024,
  messageIdLengthMax: 512,
  callNestingMax: 500,
  batchBytesMax: 500_000,
  intakeBatchBytesMax: 512_000,
  intakeBatchEventsMax: 2_500,
  intakeBatchMergedBytesMax: 4 * 1024 * 1024,
  endpointsMax: 5,
  endpointDeadlineMs: 5_000,
  retryWindowMs: 4 * 60 * 60 * 1_000,
  historicalAgeMs: 24 * 60 * 60 * 1_000,
  webhookBytesMax: 1024 * 1024,
})

/**
 * Bytes of one record of a capture: the bytes of a webhook stand there in base64, and as the JSON that they are, which
 * can be longer if it is written in another way.
 */
export const captureRowBytesMax: number = 8 * 1024 * 1024
