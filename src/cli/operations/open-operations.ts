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

/** The audiences that a command works on. */
export interface OpenedAudiences {
  readonly audiences: AudienceOperations
  /** Set if this process delivers; undefined if a running service does, or nothing is delivered. */
  readonly offline: OfflineWork | undefined
}

/** The audiences and regulations that a command works on. */
export interface OpenedOperations extends OpenedAudiences {
  readonly regulations: AskedRegulations
}

/** The service in this process. */
export interface OfflineWork {
  /** Delivers and erases. */
  readonly service: Pick<OfflineService, 'idle' | 'ledger' | 'stop'>
  /** The URL of its store. */
  readonly storeUrl: string
}

/** The parameters of {@link withOperations}. */
export interface OperationsParts {
  /** Streams, environment and stop signal. */
  readonly io: Io
  /** Clock, ids, log and observer. */
  readonly runtime: Runtime
  /** Print the problems of a configuration as records on stdout. */
  readonly json: boolean
}

/**
 * Opens the operations and runs the work. They run in one of these places:
 *
 * - in the service that the flags name;
 * - in this process, on the store of a configuration;
 * - in the service of that configuration, if another process delivers from the store or the store is in
 *   memory.
 *
 * @throws ConfigurationError with all problems; EvrouteError if no place can do the work
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
    // The configured service delivers from its own store only.
    if (!isInUse || !isStoreOf(configuration, storeUrl)) throw error
    return askConfiguredService(configuration, inUse(storeUrl), io.stop)
  }
}

/** Paths in a configuration are absolute. */
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
