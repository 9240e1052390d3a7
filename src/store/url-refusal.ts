/** Why a URL names no store, and the correction. Neither contains a password. */
export interface UrlRefusal {
  /** The fault. */
  readonly why: string
  /** The correction. */
  readonly hint: string
}
