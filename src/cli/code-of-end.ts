import { exitCodes, type ExitCode } from './exit-code.ts'
import type { Io } from './io.ts'

/** The exit code of a command that ended early: 130 after a signal, 0 after the reader of its output left. */
export function codeOfEnd({ stop }: Pick<Io, 'stop'>): ExitCode {
  const isSignal = stop.reason === 'SIGINT' || stop.reason === 'SIGTERM'
  return stop.aborted && isSignal ? exitCodes.interrupted : exitCodes.ok
}

/** Whether the reader of stdout has left. */
export function isOutputClosed({ stop }: Pick<Io, 'stop'>): boolean {
  return stop.reason === 'output_closed'
}

/** Whether work broke off because the command ends early. Libraries pass the stop reason on as the cause. */
export function isEnd(error: unknown, { stop }: Pick<Io, 'stop'>): boolean {
  if (!stop.aborted) return false
  if (error === stop.reason) return true
  return error instanceof Error && error.cause !== undefined && isEnd(error.cause, { stop })
}

/**
 * Resolves with the result of the work, or with undefined if the command ended early.
 *
 * @throws any other error of the work
 */
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
