import { EvrouteError, type ErrorCode } from '../model/index.ts'

/** How a command can end; the table is in the README. */
export const exitCodes = Object.freeze({
  /** All as asked. */
  ok: 0,
  /** An error of evroute itself, or counts that do not balance. */
  internal: 1,
  /** The command line or a setting is wrong. */
  usage: 2,
  /** Some rows of the input were rejected. */
  badInput: 3,
  /** A delivery failed or expired. */
  deliveryFailed: 4,
  /** What was expected did not arrive in time. */
  expectationUnmet: 5,
  /** A signature did not verify. */
  badSignature: 6,
  /** Our own port, file, certificate or store cannot be used. */
  cannotUse: 7,
  /** Ended by a signal before the work was done. */
  interrupted: 130,
})

/** A number that a command ends with. */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** The gravest first. */
const precedence: readonly ExitCode[] = [1, 2, 7, 130, 4, 6, 5, 3, 0]

/** The one code that stands for several. */
export function gravest(codes: readonly ExitCode[]): ExitCode {
  return precedence.find((code) => codes.includes(code)) ?? exitCodes.ok
}

const codesOfErrors: Readonly<Record<ErrorCode, ExitCode>> = {
  invalid_setting: exitCodes.usage,
  invalid_usage: exitCodes.usage,
  port_in_use: exitCodes.cannotUse,
  cannot_listen: exitCodes.cannotUse,
  cannot_read_file: exitCodes.cannotUse,
  cannot_write_file: exitCodes.cannotUse,
  store_closed: exitCodes.internal,
  expectation_unmet: exitCodes.expectationUnmet,
}

/** The code that an error ends the command with. */
export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof EvrouteError ? codesOfErrors[error.code] : exitCodes.internal
}
