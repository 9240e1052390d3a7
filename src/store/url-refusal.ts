/** Why a URL names no store, and what to write instead; neither has a password in it. */
export interface UrlRefusal {
  /** What is wrong with it. */
  readonly why: string
  /** What to write instead. */
  readonly hint: string
}
