/** The limits of the specification and of the tracking protocol, in one place. */
export const limits = Object.freeze({
  /** UTF-8 bytes of one call as it is sent. */
  callBytesMax: 32 * 1024,
  /** Characters of a messageId, in UTF-16 code units: a key that every store can index. */
  messageIdLengthMax: 512,
  /** UTF-8 bytes of one batch request that the client makes, envelope and commas included. */
  batchBytesMax: 500_000,
  /** Levels of nested objects and arrays in a field of a call. JSON parsers of every language accept as many. */
  callNestingMax: 500,
  /**
   * Bytes of one batch that the tracking API accepts, inflated. It is more than our client sends, because other
   * clients send up to 512,000 and lose refused batches.
   */
  intakeBatchBytesMax: 512_000,
  /** Events in one batch that intake accepts. */
  intakeBatchEventsMax: 2_500,
  /**
   * Bytes of a batch's context and integrations, multiplied by its events: the text that merging adds.
   * Clients stay far below it. They send 4 KB with 100 events, or the name of a library with 2,500.
   */
  intakeBatchMergedBytesMax: 4 * 1024 * 1024,
  /** Endpoints of one destination. */
  endpointsMax: 5,
  /** Time that an endpoint has to answer: connect, headers and body together. */
  endpointDeadlineMs: 5_000,
  /** Time after a delivery's first attempt in which other attempts may start. */
  retryWindowMs: 4 * 60 * 60 * 1_000,
  /** The longest retry window that an operator may ask for. */
  retryWindowMsMax: 30 * 24 * 60 * 60 * 1_000,
  /** Age from which an event counts as historical. */
  historicalAgeMs: 24 * 60 * 60 * 1_000,
  /** Bytes of one webhook that the receiver accepts. */
  webhookBytesMax: 1024 * 1024,
})

/**
 * Bytes of one record of a capture. A record has the body of a webhook twice: in base64, and as JSON, which may be
 * written in a longer form.
 */
export const captureRowBytesMax: number = 8 * 1024 * 1024
