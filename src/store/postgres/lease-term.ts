/** A lease in the database: its process, its number, and its end. */
export interface LeaseTerm {
  /** The process. */
  readonly holder: number
  /** The number of the deliveries that it leased together. */
  readonly number: number
  /** When other processes may lease the delivery, in milliseconds since 1970. */
  readonly untilMs: number
}
