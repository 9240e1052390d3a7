import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import {
  checkConfiguration,
  ConfigurationError,
  readConfiguration,
  type Configuration,
  type ConfigurationOutcome,
} from './configuration/index.ts'
import { TlsFiles } from '../http/index.ts'
import { EvrouteError, messageOf } from '../model/index.ts'
import { silentLog, type ReferenceSources } from '../runtime/index.ts'
import { checkEndpointNames, type NameCheckOptions } from './endpoint-names.ts'

interface ReadOptions extends NameCheckOptions {
  readonly env: ReferenceSources['env']
}

/** A valid configuration, and its settings with their origins. */
export type UsableConfiguration = Extract<ConfigurationOutcome, { kind: 'valid' }>

/**
 * Reads and checks the configuration of a service, including the host names of its endpoints.
 *
 * @param given - the path of a file, or its content. Paths in the content are relative to the working directory
 * @throws ConfigurationError with all problems; EvrouteError `cannot_read_file` for the file or a certificate
 */
export async function readServiceConfiguration(
  given: unknown,
  options: ReadOptions,
): Promise<UsableConfiguration> {
  const sources = { env: options.env, readFile: (path: string) => readFile(path, 'utf8') }
  const isFile = typeof given === 'string'
  const outcome = isFile
    ? await readConfiguration(given, sources)
    : await checkConfiguration(given, { ...sources, folder: resolve() })
  const problems =
    outcome.kind === 'invalid'
      ? outcome.problems
      : await checkEndpointNames(outcome.configuration, options)
  if (outcome.kind === 'valid' && problems.length === 0) {
    await checkTlsFiles(outcome.configuration)
    return outcome
  }
  throw new ConfigurationError(isFile ? given : 'the configuration', problems)
}

/** Reads all certificates and keys, to report mistakes before a port opens. */
async function checkTlsFiles({ listen, admin, destinations }: Configuration): Promise<void> {
  const endpoints = destinations.flatMap((destination, index) =>
    destination.endpoints.map(
      ({ tls }, at) => [`destinations[${index}].endpoints[${at}]`, tls] as const,
    ),
  )
  const ports = [['listen', listen.tls] as const, ['admin', admin?.tls] as const]
  for (const [path, tls] of [...ports, ...endpoints]) {
    try {
      if (tls !== undefined) await TlsFiles.open(tls, silentLog)
    } catch (error) {
      const message = `${path}.tls: ${messageOf(error)}`
      throw new EvrouteError({ code: 'cannot_read_file', message, cause: error })
    }
  }
}
