import { readFile } from 'node:fs/promises'
import type { NamedSecret } from '../receiver/index.ts'
import type { Io } from './io.ts'

/**
 * The secrets of a configuration's destinations. A sender may have signed a webhook with one of them by
 * mistake.
 *
 * @param path - the configuration file; undefined for none
 * @throws ConfigurationError with all problems; EvrouteError `cannot_read_file`
 */
export async function readOtherSecrets(
  path: string | undefined,
  io: Io,
): Promise<readonly NamedSecret[]> {
  if (path === undefined) return []
  const { ConfigurationError, readConfiguration } = await import('../service/index.ts')
  const outcome = await readConfiguration(path, {
    env: io.env,
    readFile: (file) => readFile(file, 'utf8'),
  })
  if (outcome.kind === 'invalid') throw new ConfigurationError(path, outcome.problems)
  return outcome.configuration.destinations.flatMap(({ id, sharedSecret, standardWebhooks }) =>
    [sharedSecret, ...(standardWebhooks?.secrets ?? [])]
      .filter((secret) => secret !== undefined)
      .map((secret) => ({ name: `the destination ${id}`, secret })),
  )
}
