import { readFile } from 'node:fs/promises'
import type { AudienceReader } from '../../audience/index.ts'
import { ConfigurationError, readConfiguration, type Configuration } from '../../service/index.ts'
import { openDeliveryLog } from '../../store/index.ts'
import type { Io } from '../io.ts'
import { regulationRecords, type RegulationRecords } from './asked-regulations.ts'
import { askConfiguredService, inMemory } from './configured-service.ts'
import type { OperationsPlace } from './operations-flags.ts'
import { RemoteAudiences, RemoteRegulations } from './remote-operations.ts'
import { ServiceApi } from './service-api.ts'

/** What is known of audiences and regulations. */
export interface OpenedReaders {
  /** Audiences and computed traits. */
  readonly audiences: AudienceReader
  /** Deletion requests. */
  readonly regulations: RegulationRecords
}

/**
 * Opens what is known for as long as the work takes: in a store, beside whoever delivers from it, or in
 * a running service where one is named, or the store is in memory.
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
  if (storeUrl !== undefined && storeUrl !== 'memory:') return workOnStore(storeUrl, work)
  const configuration = await readFileOf(path, io)
  if ((storeUrl ?? configuration.store) !== 'memory:') return workOnStore(configuration.store, work)
  return work(remote(await askConfiguredService(configuration, inMemory, io.stop)))
}

async function workOnStore<Result>(
  url: string,
  work: (readers: OpenedReaders) => Promise<Result>,
): Promise<Result> {
  const log = await openDeliveryLog(url, { write: false })
  try {
    return await work({
      audiences: log.audiences,
      regulations: regulationRecords(log.regulations),
    })
  } finally {
    await log.close()
  }
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
