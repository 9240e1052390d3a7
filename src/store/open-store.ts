import type { DeliveryStore } from '../delivery/index.ts'
import { SettingError } from '../model/index.ts'
import { MemoryStore } from './memory/memory-store.ts'

/**
 * Opens the engine that a URL names: `memory:`, or `sqlite:<file>`, whose file is made when it does
 * not exist.
 *
 * @throws SettingError for any other URL; EvrouteError `store_in_use` or `store_unusable`
 */
export async function openStore(url: string): Promise<DeliveryStore> {
  if (url === 'memory:') return new MemoryStore()
  const path = /^sqlite:(.+)$/.exec(url)?.[1]
  if (path === undefined) {
    throw new SettingError(
      '--store',
      `Cannot open the store "${url}": it is neither memory: nor sqlite:<file>`,
      'Write it as sqlite:./evroute.db.',
    )
  }
  // Loaded only where it is asked for: it brings a binary along.
  const { SqliteStore } = await import('./sqlite/sqlite-store.ts')
  return SqliteStore.open(path)
}
