import { resolve } from 'node:path'
import type { AudienceOperations } from '../../admin-api/index.ts'
import { EvrouteError } from '../../model/index.ts'
import type { Runtime } from '../../runtime/index.ts'
import { OfflineService, type Configuration } from '../../service/index.ts'
import { readForCommand } from '../configuration/read-for-command.ts'
import type { Io } from '../io.ts'
import { askedRegulations, type AskedRegulations } from './asked-regulations.ts'
import { askConfiguredService, inMemory, inUse } from './configured-service.ts'
import type { ConfiguredPlace, OperationsPlace } from './operations-flags.ts'
import { RemoteAudiences, RemoteRegulations } from './remote-operations.ts'
import { ServiceApi } from './service-api.ts'

/** Who does the work of a command about audiences. */
export interface OpenedAudiences {
  /** Audiences and computed traits. */
  readonly audiences: AudienceOperations
  /** This process, where it delivers too; undefined where a running service does, or nobody has to. */
  readonly offline: OfflineWork | undefined
}

/** Who does the work of a command. */
export interface OpenedOperations extends OpenedAudiences {
  /** Deletion requests. */
  readonly regulations: AskedRegulations
}

/** The work of this process. */
export interface OfflineWork {
  /** Delivers and erases. */
  readonly service: Pick<OfflineService, 'idle' | 'ledger' | 'stop'>
  /** Where it does so. */
  readonly storeUrl: string
}

/** What work is done with. */
export interface OperationsParts {
  /** Streams, environment and the signal to end early. */
  readonly io: Io
  /** Clock, ids, log and observer. */
  readonly runtime: Runtime
  /** Whether problems of a configuration are records on stdout. */
  readonly json: boolean
}

/**
 * Finds who does the work, for as long as it takes: the service that is named; this process, from the
 * store of a configuration; or the service of that configuration where another process delivers from
 * the store, or the store is in memory.
 *
 * @throws ConfigurationError with all that is wrong; EvrouteError where nobody can do it
 */
export async function withOperations<Result>(
  place: OperationsPlace,
  parts: OperationsParts,
  work: (operations: OpenedOperations) => Promise<Result>,
): Promise<Result> {
  if (place.kind === 'service') return work(remote(new ServiceApi(place, parts.io.stop)))
  const { io, runtime, json } = parts
  const { path } = place
  const { configuration } = await readForCommand({ path, json, log: runtime.log }, io)
  const opened = await openOffline(place, configuration, parts)
  if (opened instanceof ServiceApi) return work(remote(opened))
  const { service, storeUrl } = opened
  try {
    const { audiences, regulations } = service
    return await work({
      audiences,
      regulations: askedRegulations(regulations),
      offline: { service, storeUrl },
    })
  } finally {
    await service.close()
  }
}

async function openOffline(
  place: ConfiguredPlace,
  configuration: Configuration,
  { io, runtime }: OperationsParts,
): Promise<{ readonly service: OfflineService; readonly storeUrl: string } | ServiceApi> {
  const storeUrl = place.storeUrl ?? configuration.store
  if (storeUrl === 'memory:') return askConfiguredService(configuration, inMemory, io.stop)
  try {
    const service = await OfflineService.open({ configuration, runtime, storeUrl })
    return { service, storeUrl }
  } catch (error) {
    const isInUse = error instanceof EvrouteError && error.code === 'store_in_use'
    // Its service delivers from a store of its own, and not from any other.
    if (!isInUse || !isStoreOf(configuration, storeUrl)) throw error
    return askConfiguredService(configuration, inUse(storeUrl), io.stop)
  }
}

/** Paths of a configuration are absolute. */
function isStoreOf({ store }: Configuration, url: string): boolean {
  const fileOf = (text: string): string => resolve(text.replace(/^sqlite:/, ''))
  return fileOf(store) === fileOf(url)
}

function remote(api: ServiceApi): OpenedOperations {
  return {
    audiences: new RemoteAudiences(api),
    regulations: new RemoteRegulations(api),
    offline: undefined,
  }
}
