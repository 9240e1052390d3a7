/** One claim of a scenario: what must hold, and what was measured. */
export interface PressureFinding {
  /** What must hold, such as `healthy p99 at most 1.5 times the quiet one`. */
  readonly must: string
  /** What was measured, such as `1.08 times`. */
  readonly measured: string
  readonly holds: boolean
}

/**
 * A situation in which evroute once broke a promise, at a scale for which the test suite has no time. Each
 * file in `scenarios/` exports one as `scenario`. A scenario is bounded in time, uses only 127.0.0.1, and
 * stops every process that it starts.
 */
export interface PressureScenario {
  /** The situation, in one line. */
  readonly title: string
  /** Puts evroute under pressure, and returns the findings. */
  readonly run: () => Promise<readonly PressureFinding[]>
}
