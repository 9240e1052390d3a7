import { exitCodes, type ExitCode } from './exit-code.ts'
import type { Io } from './io.ts'

/** How a command ends that may be ended early: 130 after a signal, 0 after the reader of its output has left. */
export function codeOfEnd({ stop }: Pick<Io, 'stop'>): ExitCode {
  const isSignal = stop.reason === 'SIGINT' || stop.reason === 'SIGTERM'
  return stop.aborted && isSignal ? exitCodes.interrupted : exitCodes.ok
}

/** Whether the reader of our output has left. */
export function isOutputClosed({ stop }: Pick<Io, 'stop'>): boolean {
  return stop.reason === 'output_closed'
}

/** Whether work broke off because the command is to end early: libraries give that reason as the cause. */
export function isEnd(error: unknown, { stop }: Pick<Io, 'stop'>): boolean {
  if (!stop.aborted) return false
  if (error === stop.reason) return true
  return error instanceof Error && error.cause !== undefined && isEnd(error.cause, { stop })
}

/**
 * The result of work that may break off because the command is to end early: undefined then.
 *
 * @throws whatever else the work fails with
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
