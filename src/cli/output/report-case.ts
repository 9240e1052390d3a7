/** One check in a report. */
export interface ReportCase {
  /** The name of the check. */
  readonly name: string
  /** Why it failed; undefined if it passed. */
  readonly failure:
    | {
        /** The stable name of the reason. */
        readonly type: string
        /** Expected and actual value, on one line. */
        readonly message: string
        /** Details, on any number of lines. */
        readonly detail: string
      }
    | undefined
}

/** The checks of one command. */
export interface Report {
  /** The command, such as `evroute listen`. */
  readonly title: string
  /** In the order of the flags. */
  readonly cases: readonly ReportCase[]
  /** The duration of the command, in milliseconds. */
  readonly durationMs: number
}
