import { SettingError } from '../model/index.ts'
import { openStore, type OpenStoreOptions, type Store } from '../store/index.ts'
import type { ServiceOptions } from './service-options.ts'

/**
 * Opens the store of a service. A store in memory gets no bound: a bound would make callers wait, whereas the service
 * refuses calls. Throws a SettingError for the role `ingest` or `deliver` if no other process can use the store.
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
