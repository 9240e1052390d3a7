/** The limits of the specification and of the tracking protocol, in one place. */
export const limits = Object.freeze({
  /** UTF-8 bytes of one call as it is sent. */
  callBytesMax: 32 * 1024,
  /** Characters of a messageId, in UTF-16 code units: a key that every store can index. */
  messageIdLengthMax: 512,
  /** UTF-8 bytes of one batch request that the client makes, envelope and commas included. */
  batchBytesMax: 500_000,
  /** Objects and arrays inside one another in a field of a call: what readers in every language take. */
  callNestingMax: 500,
  /**
   * Bytes of one batch that the tracking API accepts, inflated. Other clients send up to 512,000, more than
   * ours, and lose refused batches.
   */
  intakeBatchBytesMax: 512_000,
  /** Events in one batch that intake takes. */
  intakeBatchEventsMax: 2_500,
  /**
   * Bytes of one batch's context and integrations, times its events: so much is put under all of them.
   * Clients send 100 events with 4 KB, or the name of a library with 2,500, and are far below it.
   */
  intakeBatchMergedBytesMax: 4 * 1024 * 1024,
  /** Endpoints of one destination. */
  endpointsMax: 5,
  /** Time an endpoint has to answer: connect, headers and body together. */
  endpointDeadlineMs: 5_000,
  /** From a delivery's first attempt to the last moment another may start. */
  retryWindowMs: 4 * 60 * 60 * 1_000,
  /** The longest retry window that an operator may ask for. */
  retryWindowMsMax: 30 * 24 * 60 * 60 * 1_000,
  /** Age from which an event counts as historical. */
  historicalAgeMs: 24 * 60 * 60 * 1_000,
  /** Bytes of one webhook that the receiver takes. */
  webhookBytesMax: 1024 * 1024,
})

/**
 * Bytes of one record of a capture: the bytes of a webhook stand there in base64, and as the JSON that they are, which
 * can be longer if it is written in another way.
 */
export const captureRowBytesMax: number = 8 * 1024 * 1024
