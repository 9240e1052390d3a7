import { exitCodes, type ExitCode } from './exit-code.ts'
import type { Io } from './io.ts'

/** How a command ends that may have been ended early: whoever closed our output knows that it ends here. */
export function codeOfEnd({ stop }: Pick<Io, 'stop'>): ExitCode {
  const isSignal = stop.reason === 'SIGINT' || stop.reason === 'SIGTERM'
  return stop.aborted && isSignal ? exitCodes.interrupted : exitCodes.ok
}

/** Whether nobody reads our output any more. */
export function isOutputClosed({ stop }: Pick<Io, 'stop'>): boolean {
  return stop.reason === 'output_closed'
}
