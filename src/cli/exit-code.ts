import { EvrouteError, type ErrorCode } from '../model/index.ts'

/** A number that a command ends with; docs/exit-codes.md is made from the table below. */
export type ExitCode = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 130

/** How a command can end. */
export const exitCodes: {
  /** All as asked. */
  readonly ok: 0
  /** An error of evroute itself, or counts that do not balance. */
  readonly internal: 1
  /** The command line or a setting is wrong. */
  readonly usage: 2
  /** Some rows of the input were rejected. */
  readonly badInput: 3
  /** A delivery failed or expired. */
  readonly deliveryFailed: 4
  /** What was expected did not arrive in time. */
  readonly expectationUnmet: 5
  /** A signature did not verify. */
  readonly badSignature: 6
  /** Our own port, file, certificate or store cannot be used. */
  readonly cannotUse: 7
  /** Ended by a signal before the work was done. */
  readonly interrupted: 130
} = Object.freeze({
  ok: 0,
  internal: 1,
  usage: 2,
  badInput: 3,
  deliveryFailed: 4,
  expectationUnmet: 5,
  badSignature: 6,
  cannotUse: 7,
  interrupted: 130,
})

/** The gravest first. */
const precedence: readonly number[] = [1, 2, 7, 130, 4, 6, 5, 3, 0] satisfies ExitCode[]

/** The one code that stands for several. One that is not ours, of a command that was run, goes before 5. */
export function gravest<Code extends number>(codes: readonly Code[]): Code | 0 {
  const [first] = codes.toSorted((one, other) => rank(one) - rank(other))
  return first ?? exitCodes.ok
}

function rank(code: number): number {
  const known = precedence.indexOf(code)
  return known === -1 ? precedence.indexOf(exitCodes.expectationUnmet) - 0.5 : known
}

const codesOfErrors: Readonly<Record<ErrorCode, ExitCode>> = {
  invalid_setting: exitCodes.usage,
  invalid_usage: exitCodes.usage,
  port_in_use: exitCodes.cannotUse,
  cannot_listen: exitCodes.cannotUse,
  cannot_read_file: exitCodes.cannotUse,
  cannot_write_file: exitCodes.cannotUse,
  store_closed: exitCodes.internal,
  store_in_use: exitCodes.cannotUse,
  store_unusable: exitCodes.cannotUse,
  sync_running: exitCodes.cannotUse,
  expectation_unmet: exitCodes.expectationUnmet,
}

/** The code that an error ends the command with. */
export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof EvrouteError ? codesOfErrors[error.code] : exitCodes.internal
}
