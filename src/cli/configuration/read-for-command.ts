import { recordLine } from '../../model/index.ts'
import {
  ConfigurationError,
  readServiceConfiguration,
  type ConfigurationProblem,
  type UsableConfiguration,
} from '../../service/index.ts'
import type { Log } from '../../runtime/index.ts'
import { writeData, type Io } from '../io.ts'

/** How a command reads a configuration. */
export interface CommandReading {
  /** The configuration's file. */
  readonly path: string
  /** A record on stdout for each problem. */
  readonly json: boolean
  /** Is told of names that have no address. */
  readonly log: Log
}

/**
 * Reads the configuration that a command is about.
 *
 * @throws ConfigurationError with all that is wrong; EvrouteError `cannot_read_file`
 */
export async function readForCommand(
  { path, json, log }: CommandReading,
  io: Io,
): Promise<UsableConfiguration> {
  try {
    return await readServiceConfiguration(path, { env: io.env, log })
  } catch (error) {
    if (json && error instanceof ConfigurationError) {
      await writeData(io, error.problems.map(problemRecord).join(''))
    }
    throw error
  }
}

function problemRecord({ path, message, hint }: ConfigurationProblem): string {
  return recordLine({ kind: 'problem', path, message, hint: hint ?? null })
}
