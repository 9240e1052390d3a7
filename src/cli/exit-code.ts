import { EvrouteError, type ErrorCode } from '../model/index.ts'
import type { Io } from './io.ts'

/** The exit codes by name. docs/exit-codes.md is generated from this table. */
export const exitCodes = Object.freeze({
  /** Success. */
  ok: 0,
  /** An internal error, or counts that do not balance. */
  internal: 1,
  /** The command line or a setting is wrong. */
  usage: 2,
  /** Some input rows were rejected. */
  badInput: 3,
  /** A delivery failed or expired, or a checked handler did not answer. */
  deliveryFailed: 4,
  /** An expectation was not met in time. */
  expectationUnmet: 5,
  /** A signature did not verify, or a checked handler is wrong. */
  badSignature: 6,
  /** A port, file, certificate, store or receiver cannot be used. */
  cannotUse: 7,
  /** A signal ended the command early. */
  interrupted: 130,
})

/** How a command ended: 0 to 7, or 130. See {@link exitCodes}. */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** Exit codes from most to least severe. */
const precedence: readonly number[] = [1, 2, 7, 130, 4, 6, 5, 3, 0] satisfies ExitCode[]

/** Returns the most severe exit code; 0 for no codes. An unknown code of a child process ranks between 6 and 5. */
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
  cannot_reach: exitCodes.cannotUse,
  store_closed: exitCodes.internal,
  store_in_use: exitCodes.cannotUse,
  store_unusable: exitCodes.cannotUse,
  sync_running: exitCodes.cannotUse,
  expectation_unmet: exitCodes.expectationUnmet,
}

/** Returns the exit code for an error. An error other than an EvrouteError is internal. */
export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof EvrouteError ? codesOfErrors[error.code] : exitCodes.internal
}

/** Returns the exit code of a command that only shows data: 130 if a signal ended it, otherwise 0. */
export function codeOfEnd({ stop }: Pick<Io, 'stop'>): ExitCode {
  const isSignal = stop.reason === 'SIGINT' || stop.reason === 'SIGTERM'
  return stop.aborted && isSignal ? exitCodes.interrupted : exitCodes.ok
}

/** Whether the reader of stdout has closed it. */
export function isOutputClosed({ stop }: Pick<Io, 'stop'>): boolean {
  return stop.reason === 'output_closed'
}

/** Whether an error only reports an early end: the error or one of its causes is the abort reason. */
export function isEnd(error: unknown, { stop }: Pick<Io, 'stop'>): boolean {
  if (!stop.aborted) return false
  if (error === stop.reason) return true
  return error instanceof Error && error.cause !== undefined && isEnd(error.cause, { stop })
}

/** Resolves with the result of the work; undefined if it failed because the command must end early. */
export async function unlessEnded<Result>(
  work: Promise<Result>,
  io: Pick<Io, 'stop'>,
): Promise<Result | undefined> {
  try {
    return await work
  } catch (error) {
    if (isEnd(error, io)) return undefined
    throw error
  }
}
