import type { Io } from './io.ts'

/** Says that input is waited for, where it is typed: a command that only waits looks stuck. */
export function tellOfTerminalInput(paths: readonly string[], io: Io): void {
  if (io.stdin.isTTY !== true || !paths.includes('-')) return
  io.stderr.write('Reading from the terminal: Ctrl-D ends the input, Ctrl-C the command.\n')
}
