/** Limits of a match: far above practical use, but low enough that testing a match is fast. */
export const matchLimits: {
  /** Maximum length of a match or an expectation as text, in UTF-16 units. */
  readonly textMax: number
  /** Maximum number of terms in a text. */
  readonly termsMax: number
  /** Maximum number of keys of a field in a text, and of levels in an object. */
  readonly keysMax: number
  /** Maximum count of an expectation. */
  readonly countMax: number
} = Object.freeze({ textMax: 2_000, termsMax: 50, keysMax: 32, countMax: 1_000_000_000 })
