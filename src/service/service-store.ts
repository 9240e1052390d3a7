import { SettingError } from '../model/index.ts'
import { openStore, type OpenStoreOptions, type Store } from '../store/index.ts'
import type { ServiceOptions } from './service-options.ts'

/**
 * Opens the store of a service. In memory its bound is that of the service, which refuses where the store
 * would let callers wait.
 *
 * @throws SettingError for a role that needs other processes where none can use the store; EvrouteError
 * `store_in_use` or `store_unusable`
 */
export async function openServiceStore(
  { configuration, role = 'all' }: ServiceOptions,
  options: OpenStoreOptions,
): Promise<Store> {
  const bounds = { pendingMax: Infinity }
  const store = await openStore(configuration.store, { ...options, ownThread: true, bounds })
  if (role === 'all' || store.processes !== undefined) return store
  await store.close()
  throw new SettingError(
    'role',
    `Cannot run with the role ${role}: no other process can use the store`,
    'Set store to a postgres:// URL, or leave the role out.',
  )
}
