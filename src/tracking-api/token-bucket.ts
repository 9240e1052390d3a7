/** The state of a source's rate limit. */
export interface TokenBucket {
  /** Calls that the source may send now; negative after a larger batch. */
  readonly tokens: number
  /** When `tokens` was computed, in milliseconds since 1970. */
  readonly atMs: number
}

/** A request to take tokens from a bucket. */
export interface TokenRequest {
  readonly nowMs: number
  readonly count: number
  /** Tokens added per second; also the capacity of the bucket, which is at least 1. */
  readonly perSecond: number
}

/** Tolerance for rounding errors, because a rate is rarely a whole number of calls per millisecond. */
const roundingMs = 1e-6

/**
 * Takes tokens for calls, or returns how long to wait, in milliseconds. While any tokens are left, a batch of any
 * size passes. The bucket may then go negative, and later batches wait.
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
    // Wait until tokens are above zero, not just at zero, and allow for rounding.
    const owedMs = (-tokens / perSecond) * 1_000
    const waitMs = Math.floor(owedMs + roundingMs) + 1
    return { bucket: { tokens, atMs: nowMs }, waitMs }
  }
  return { bucket: { tokens: tokens - count, atMs: nowMs }, waitMs: 0 }
}

/** Puts back the tokens of calls that were not stored. */
export function returnTokens(bucket: TokenBucket, count: number): TokenBucket {
  return { ...bucket, tokens: bucket.tokens + count }
}
