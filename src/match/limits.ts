/** Limits of a match: far above practical use, and small enough to test a match at once. */
export const matchLimits: {
  /** UTF-16 units of the text of a match or an expectation. */
  readonly textMax: number
  /** Terms of a text. */
  readonly termsMax: number
  /** Keys of a field of a text, and levels of an object. */
  readonly keysMax: number
  /** The highest count that can be expected. */
  readonly countMax: number
} = Object.freeze({ textMax: 2_000, termsMax: 50, keysMax: 32, countMax: 1_000_000_000 })
