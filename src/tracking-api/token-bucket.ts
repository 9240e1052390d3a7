/** How much of its rate a source has left. */
export interface TokenBucket {
  /** Calls that may come now; negative after a batch that was larger. */
  readonly tokens: number
  /** The time of that count, in milliseconds since 1970. */
  readonly atMs: number
}

/** A request to a bucket. */
export interface TokenRequest {
  /** Milliseconds since 1970. */
  readonly nowMs: number
  /** Calls that want to come. */
  readonly count: number
  /** Calls that come in again per second; as many fit into the bucket, and never less than one. */
  readonly perSecond: number
}

/** Tolerance of a wait: rates are not whole numbers of calls per millisecond. */
const roundingMs = 1e-6

/**
 * Takes calls out of a bucket, or says how long to wait. A batch of any size is let in while anything is
 * left: the bucket then owes the rest, and later batches wait for it.
 *
 * @param bucket - undefined for a source that has sent nothing yet
 * @returns the bucket afterwards, and the wait in milliseconds: 0 if the calls may come
 */
export function takeTokens(
  bucket: TokenBucket | undefined,
  { nowMs, count, perSecond }: TokenRequest,
): { readonly bucket: TokenBucket; readonly waitMs: number } {
  const tokensMax = Math.max(1, perSecond)
  const elapsedMs = bucket === undefined ? 0 : Math.max(0, nowMs - bucket.atMs)
  const before = bucket?.tokens ?? tokensMax
  const tokens = Math.min(tokensMax, before + (elapsedMs / 1_000) * perSecond)
  if (tokens <= 0) {
    // Wait until something is left, not just until nothing is owed. The sum may be off by a rounding.
    const owedMs = (-tokens / perSecond) * 1_000
    const waitMs = Math.floor(owedMs + roundingMs) + 1
    return { bucket: { tokens, atMs: nowMs }, waitMs }
  }
  return { bucket: { tokens: tokens - count, atMs: nowMs }, waitMs: 0 }
}

/** Returns the tokens of calls that did not come after all. */
export function returnTokens(bucket: TokenBucket, count: number): TokenBucket {
  return { ...bucket, tokens: bucket.tokens + count }
}
