import type { Command } from 'commander'
import type { Io } from './io.ts'

/** Passed to every command. */
export interface CommandContext {
  /** Streams, environment and stop signal. */
  readonly io: Io
  /** Sets the exit code: one of evroute's, or the code of a child process. */
  readonly end: (code: number) => void
}

/** Adds a command to the program. */
export type AddCommand = (program: Command, context: CommandContext) => void
