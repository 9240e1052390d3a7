import type { Io } from './io.ts'

/** Says that input is waited for, where it is typed: a command that only waits looks stuck. */
export function tellOfTerminalInput(paths: readonly string[], io: Io): void {
  // Standard input is opened by looking at it, which costs a start that does not read it.
  if (!paths.includes('-') || io.stdin.isTTY !== true) return
  io.stderr.write('Reading from the terminal: Ctrl-D ends the input, Ctrl-C the command.\n')
}
