import { AudiencePreviews } from '../../service/index.ts'
import { readForCommand } from '../configuration/read-for-command.ts'
import { askConfiguredService, inMemory } from './configured-service.ts'
import type { OpenedAudiences, OperationsParts } from './open-operations.ts'
import type { OperationsPlace } from './operations-flags.ts'
import { RemoteAudiences } from './remote-operations.ts'
import { ServiceApi } from './service-api.ts'
import { withPossibleStore } from './store-readers.ts'

/**
 * Opens the operations for a dry run and runs the work. They run in one of these places:
 *
 * - in the service that the flags name;
 * - in this process, which only reads the store of a configuration while another process may deliver from it;
 * - in the service of that configuration, if the store is in memory.
 *
 * @throws ConfigurationError with all problems; EvrouteError if no place can do the work
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
