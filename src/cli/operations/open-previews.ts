import { AudiencePreviews } from '../../service/index.ts'
import { readForCommand } from '../configuration/read-for-command.ts'
import { askConfiguredService, inMemory } from './configured-service.ts'
import type { OpenedAudiences, OperationsParts } from './open-operations.ts'
import type { OperationsPlace } from './operations-flags.ts'
import { RemoteAudiences } from './remote-operations.ts'
import { ServiceApi } from './service-api.ts'
import { withPossibleStore } from './store-readers.ts'

/**
 * Finds who does a dry run, for as long as it takes: the service that is named; this process, which only
 * reads the store of a configuration, beside whoever delivers from it; or the service of that
 * configuration where the store is in memory.
 *
 * @throws ConfigurationError with all that is wrong; EvrouteError where nobody can do it
 */
export async function withPreviews<Result>(
  place: OperationsPlace,
  { io, runtime, json }: OperationsParts,
  work: (operations: OpenedAudiences) => Promise<Result>,
): Promise<Result> {
  const ask = (api: ServiceApi): Promise<Result> =>
    work({ audiences: new RemoteAudiences(api), offline: undefined })
  if (place.kind === 'service') return ask(new ServiceApi(place, io.stop))
  const { path } = place
  const { configuration } = await readForCommand({ path, json, log: runtime.log }, io)
  const storeUrl = place.storeUrl ?? configuration.store
  if (storeUrl === 'memory:') {
    return ask(await askConfiguredService(configuration, inMemory, io.stop))
  }
  return withPossibleStore(storeUrl, ({ audiences: store }) => {
    const parts = { store, configuration: () => configuration, runtime, ending: io.stop }
    return work({ audiences: new AudiencePreviews(parts), offline: undefined })
  })
}
