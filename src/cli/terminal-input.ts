import type { Io } from './io.ts'

/** Tells the user that a command reads from the terminal. Otherwise it would seem to hang. */
export function tellOfTerminalInput(paths: readonly string[], io: Io): void {
  // Accessing stdin opens it, which takes time. Do so only if it is read.
  if (!paths.includes('-') || io.stdin.isTTY !== true) return
  io.stderr.write('Reading from the terminal: Ctrl-D ends the input, Ctrl-C the command.\n')
}
