import { readFile } from 'node:fs/promises'
import { EvrouteError, recordLine, systemCode } from '../../model/index.ts'
import {
  ConfigurationError,
  readConfiguration,
  readServiceConfiguration,
  type Configuration,
  type UsableConfiguration,
} from '../../service/index.ts'
import type { Log } from '../../runtime/index.ts'
import { writeData, type Io } from '../io.ts'

/**
 * Reads the configuration for a command. With `json`, writes a record for each problem to stdout. The log gets a warning
 * for each host name that does not resolve.
 */
export async function readForCommand(
  { path, json, log }: { readonly path: string; readonly json: boolean; readonly log: Log },
  io: Io,
): Promise<UsableConfiguration> {
  try {
    return await readServiceConfiguration(path, { env: io.env, log })
  } catch (error) {
    if (json && error instanceof ConfigurationError) {
      const lines = error.problems.map(({ path, message, hint = null }) =>
        recordLine({ kind: 'problem', path, message, hint }),
      )
      await writeData(io, lines.join(''))
    }
    throw error
  }
}

/** Reads the configuration for a command that sends nothing. Does not resolve the host names of endpoints. */
export async function readFileOf(path: string, { env }: Io): Promise<Configuration> {
  const outcome = await readConfiguration(path, {
    env,
    readFile: (file) => readFile(file, 'utf8'),
  })
  if (outcome.kind === 'invalid') throw new ConfigurationError(path, outcome.problems)
  return outcome.configuration
}

/** Like {@link readFileOf}, but undefined if there is no such file. */
export async function readFileIfThere(path: string, io: Io): Promise<Configuration | undefined> {
  try {
    return await readFileOf(path, io)
  } catch (error) {
    const cause = error instanceof EvrouteError ? error.cause : undefined
    if (systemCode(cause) === 'ENOENT') return undefined
    throw error
  }
}
