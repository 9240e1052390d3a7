/** One check in a report. */
export interface ReportCase {
  readonly name: string
  /** Why it failed; undefined if it passed. */
  readonly failure:
    | {
        readonly type: string
        /** Expected and actual value, on one line. */
        readonly message: string
        readonly detail: string
      }
    | undefined
}

/** The checks of one command. */
export interface Report {
  readonly title: string
  readonly cases: readonly ReportCase[]
  readonly durationMs: number
}
