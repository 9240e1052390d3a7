import { readFile } from 'node:fs/promises'
import { plainText } from '../../model/index.ts'
import { ConfigurationError, readConfiguration, type Configuration } from '../../service/index.ts'
import { storeName } from '../../store/index.ts'
import type { Io } from '../io.ts'
import { askConfiguredService, inMemory } from './configured-service.ts'
import type { ConfiguredPlace, OperationsPlace } from './operations-flags.ts'
import { RemoteAudiences, RemoteRegulations } from './remote-operations.ts'
import { ServiceApi } from './service-api.ts'
import { withPossibleStore, withStoreReaders, type OpenedReaders } from './store-readers.ts'

/**
 * Opens audiences and regulations for reading and runs the work. They come from a store, from the service
 * that the flags name, or from the service of a configuration whose store is in memory. Another process may
 * deliver from the store. A store that a flag names must exist; the store of a configuration need not exist
 * yet.
 *
 * @throws ConfigurationError with all problems; EvrouteError if the store cannot be opened or the service
 * does not answer
 */
export async function withReaders<Result>(
  place: OperationsPlace,
  io: Io,
  work: (readers: OpenedReaders) => Promise<Result>,
): Promise<Result> {
  if (place.kind === 'service') return work(remote(new ServiceApi(place, io.stop)))
  const { storeUrl, path } = place
  if (storeUrl !== undefined && storeUrl !== 'memory:') return withStoreReaders(storeUrl, work)
  const configuration = await readFileOf(path, io)
  if ((storeUrl ?? configuration.store) !== 'memory:') {
    return withPossibleStore(configuration.store, work, () => {
      const name = plainText(storeName(configuration.store))
      io.stderr.write(`There is no store yet: what is first synced or delivered makes ${name}\n`)
    })
  }
  return work(remote(await askConfiguredService(configuration, inMemory, io.stop)))
}

/**
 * The URL of the store: from the flag, else from the configuration.
 *
 * @throws ConfigurationError with all problems; EvrouteError `cannot_read_file`
 */
export async function storeUrlOf({ storeUrl, path }: ConfiguredPlace, io: Io): Promise<string> {
  return storeUrl ?? (await readFileOf(path, io)).store
}

/** Reading sends nothing, so the host names of endpoints are not looked up. */
async function readFileOf(path: string, { env }: Io): Promise<Configuration> {
  const outcome = await readConfiguration(path, {
    env,
    readFile: (file) => readFile(file, 'utf8'),
  })
  if (outcome.kind === 'invalid') throw new ConfigurationError(path, outcome.problems)
  return outcome.configuration
}

function remote(api: ServiceApi): OpenedReaders {
  return { audiences: new RemoteAudiences(api), regulations: new RemoteRegulations(api) }
}
