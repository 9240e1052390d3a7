/** One claim of a scenario: what must hold, and what was measured. */
export interface PressureFinding {
  /** What must hold, such as `healthy p99 at most 1.5 times the quiet one`. */
  readonly must: string
  /** What was measured, such as `1.08 times`. */
  readonly measured: string
  /** Whether it holds. */
  readonly holds: boolean
}

/**
 * A situation that broke a promise once, at a scale that a test suite has no time for. A file in
 * `scenarios/` exports one as `scenario`. It is bounded in time, talks to 127.0.0.1 only, and stops
 * every process that it started.
 */
export interface PressureScenario {
  /** One line: the situation. */
  readonly title: string
  /** Puts the product under pressure and says what it found. */
  readonly run: () => Promise<readonly PressureFinding[]>
}
