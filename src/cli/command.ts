import type { Command } from 'commander'
import type { ExitCode } from './exit-code.ts'
import type { Io } from './io.ts'

/** What every command is given. */
export interface CommandContext {
  /** Streams, environment and the signal to end early. */
  readonly io: Io
  /** Says how the command ended. */
  readonly end: (code: ExitCode) => void
}

/** Adds one command to the program. */
export type AddCommand = (program: Command, context: CommandContext) => void
