/** What a lease is in the database: who holds it, under which number, and until when. */
export interface LeaseTerm {
  /** The process. */
  readonly holder: number
  /** What it has given out together. */
  readonly number: number
  /** From then on others may give it out, in milliseconds since 1970. */
  readonly untilMs: number
}
