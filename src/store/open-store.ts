import type { DeliveryLog, DeliveryStore } from '../delivery/index.ts'
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
  const path = sqlitePath(url)
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

/**
 * Opens the delivery log of a store that is there, beside a process that may deliver from it. It can
 * be read; with `write` deliveries can be retried as well.
 *
 * @throws SettingError for a URL that names no file; EvrouteError `store_unusable` when the file is
 * missing, not a store or of another version
 */
export async function openDeliveryLog(
  url: string,
  options: { readonly write: boolean },
): Promise<DeliveryLog> {
  const path = sqlitePath(url)
  if (path === undefined) {
    throw new SettingError(
      '--store',
      `Cannot look into the store "${url}": only sqlite:<file> can be opened beside its owner`,
      'Write it as sqlite:./evroute.db.',
    )
  }
  const { SqliteLog } = await import('./sqlite/sqlite-log.ts')
  return SqliteLog.open(path, options)
}

function sqlitePath(url: string): string | undefined {
  return /^sqlite:(.+)$/.exec(url)?.[1]
}
