/** Limits of a match: far above practical use, and low enough that a test of a match is fast. */
export const matchLimits: {
  /** Maximum UTF-16 units of the text of a match or an expectation. */
  readonly textMax: number
  /** Maximum terms of a text. */
  readonly termsMax: number
  /** Maximum keys of a field in a text, and maximum levels of an object. */
  readonly keysMax: number
  /** Maximum count of an expectation. */
  readonly countMax: number
} = Object.freeze({ textMax: 2_000, termsMax: 50, keysMax: 32, countMax: 1_000_000_000 })
