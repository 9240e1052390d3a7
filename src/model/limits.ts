/** The limits of the specification and of the tracking protocol, in one place. */
export const limits = Object.freeze({
  /** UTF-8 bytes of one call as it is sent. */
  callBytesMax: 32 * 1024,
  /** Length of a messageId in UTF-16 code units. Every store can index keys of this length. */
  messageIdLengthMax: 512,
  /** UTF-8 bytes of one batch request that the client makes, including the envelope and the commas. */
  batchBytesMax: 500_000,
  /** Levels of nested objects and arrays in a field of a call. JSON parsers of every language accept this many. */
  callNestingMax: 500,
  /** Bytes of one decompressed batch that the tracking API accepts. Some clients send this many. */
  intakeBatchBytesMax: 512_000,
  /** Events in one batch that intake accepts. */
  intakeBatchEventsMax: 2_500,
  /** Bytes that a batch's context and integrations add to all its calls together: in practice, 4 KB to each of 100. */
  intakeBatchMergedBytesMax: 4 * 1024 * 1024,
  /** Endpoints of one destination. */
  endpointsMax: 5,
  /** How long an endpoint may take to answer, including connecting. */
  endpointDeadlineMs: 5_000,
  /** The default retry window: the latest start of a retry, measured from the delivery's first attempt. */
  retryWindowMs: 4 * 60 * 60 * 1_000,
  /** The longest retry window that an operator may configure. */
  retryWindowMsMax: 30 * 24 * 60 * 60 * 1_000,
  /** The age from which an event counts as historical. */
  historicalAgeMs: 24 * 60 * 60 * 1_000,
  /** Bytes of one webhook that the receiver accepts. */
  webhookBytesMax: 1024 * 1024,
})

/** Bytes of one record of a capture. It contains the body of a webhook twice: in base64, and as JSON. */
export const captureRowBytesMax: number = 8 * 1024 * 1024
