import type { Command } from 'commander'
import type { Io } from './io.ts'

/** What every command is given. */
export interface CommandContext {
  /** Streams, environment and the signal to end early. */
  readonly io: Io
  /** Says what to exit with: an exit code of ours, or that of a command that was run. */
  readonly end: (code: number) => void
}

/** Adds one command to the program. */
export type AddCommand = (program: Command, context: CommandContext) => void
