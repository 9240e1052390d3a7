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
 * Opens what is known for as long as the work takes: in a store, beside whoever delivers from it, or in
 * a running service where one is named, or the store is in memory. In the store of a configuration there
 * is nothing before it is made; one that is named has to be there.
 *
 * @throws ConfigurationError with all that is wrong; EvrouteError where it cannot be opened or asked
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
 * The URL of a store that is named, or that a configuration has.
 *
 * @throws ConfigurationError with all that is wrong; EvrouteError where it cannot be read
 */
export async function storeUrlOf({ storeUrl, path }: ConfiguredPlace, io: Io): Promise<string> {
  return storeUrl ?? (await readFileOf(path, io)).store
}

/** Nothing is sent, so that the names of endpoints need no address. */
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
