/** One thing that was checked, as reports for other programs tell it. */
export interface ReportCase {
  /** What was checked. */
  readonly name: string
  /** Why it failed; undefined where it did not. */
  readonly failure:
    | {
        /** The stable name of the reason. */
        readonly type: string
        /** What was expected and what came, on one line. */
        readonly message: string
        /** What shows it, on any number of lines. */
        readonly detail: string
      }
    | undefined
}

/** What was checked together. */
export interface Report {
  /** The command that checked it, such as `evroute listen`. */
  readonly title: string
  /** In the order that they were asked for. */
  readonly cases: readonly ReportCase[]
  /** How long it took, in milliseconds. */
  readonly durationMs: number
}
