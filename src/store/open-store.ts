import { stopwatch, type Log } from '../runtime/index.ts'
import type { DueTime } from '../delivery/index.ts'
import type { UpgradeProgress } from './sqlite/schema.ts'
import { isPostgresUrl, serverUrlRefusal } from './postgres/connection-url.ts'
import type { MemoryBoundsOptions } from './sqlite/memory-bounds.ts'
import { expectUsable, fileOf, refusalOf } from './store-url.ts'
import type { Store, StoreLog } from './store.ts'

const opening = { cannot: 'Cannot open the store' }

/** Options that apply to some engines; the others ignore them. */
export interface OpenStoreOptions {
  /**
   * Called when another process has added deliveries that this one may claim. `dueTimes` has their lanes; undefined
   * means any lane. Notifications can be lost, so also poll for due deliveries.
   */
  readonly onNotification?: ((dueTimes?: readonly DueTime[]) => void) | undefined
  /**
   * Runs the engine of a file in its own thread; false by default. The thread takes time to start, but keeps
   * the main thread free, so it suits programs that deliver a lot.
   */
  readonly ownThread?: boolean | undefined
  /** Where to log the progress when a file from an earlier version is upgraded. */
  readonly log?: Log | undefined
  /** The limits of a store in memory; each has a default. */
  readonly bounds?: MemoryBoundsOptions | undefined
}

/**
 * Opens the store that a URL names: `memory:`, `sqlite:<file>` or `postgres://user@host/database`. Creates
 * missing files and tables.
 *
 * @throws SettingError for any other URL; EvrouteError `store_in_use` or `store_unusable`
 */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<Store> {
  if (url === 'memory:') {
    const { SqliteStore } = await import('./sqlite/sqlite-store.ts')
    return SqliteStore.openInMemory(options.bounds)
  }
  expectUsable(url, serverUrlRefusal(url), opening)
  if (isPostgresUrl(url)) {
    const { openPostgresStore } = await import('./postgres/postgres-store.ts')
    return openPostgresStore(url, options)
  }
  const others = 'it must be memory:, sqlite:<file> or a postgres:// URL'
  expectUsable(url, refusalOf(url, others), opening)
  const onProgress = options.log === undefined ? undefined : upgradeLines(options.log)
  if (options.ownThread === true) {
    const { openThreadedStore } = await import('./threaded/threaded-store.ts')
    return openThreadedStore(fileOf(url), undefined, onProgress)
  }
  // Import the engine only when it is used, because it loads a native binary.
  const { SqliteStore } = await import('./sqlite/sqlite-store.ts')
  return SqliteStore.open(fileOf(url), undefined, { onProgress })
}

/** Opens an empty store for a dry run. It may become larger than memory, and closing it deletes it. */
export async function openTemporaryStore(): Promise<Store> {
  const { SqliteStore } = await import('./sqlite/sqlite-store.ts')
  return SqliteStore.openInMemory({}, { growsIntoFile: true })
}

/**
 * Opens the delivery log of an existing store, even while a process delivers from it. With `write`, the log
 * can also change deliveries.
 *
 * @throws SettingError for a URL that names no store; EvrouteError `store_unusable` if the store is missing,
 * was not made by evroute, cannot be reached, or is of a different version
 */
export async function openDeliveryLog(
  url: string,
  options: { readonly write: boolean },
): Promise<StoreLog> {
  expectUsable(url, serverUrlRefusal(url), opening)
  if (isPostgresUrl(url)) {
    const { openPostgresStore } = await import('./postgres/postgres-store.ts')
    return openPostgresStore(url, { access: options.write ? 'write' : 'read' })
  }
  expectUsable(url, refusalOf(url, 'it must be sqlite:<file> or a postgres:// URL'), opening)
  const { SqliteLog } = await import('./sqlite/sqlite-log.ts')
  return SqliteLog.open(fileOf(url), options)
}

const lineEveryMs = 2_000

/** Returns a function that logs the beginning and the end of an upgrade, and its progress from time to time. */
export function upgradeLines(log: Log): (progress: UpgradeProgress) => void {
  const elapsedMs = stopwatch()
  let toldMs = -Infinity
  return ({ file, bytes, done, total }) => {
    const isLast = done === total
    if (!isLast && elapsedMs() - toldMs < lineEveryMs) return
    toldMs = elapsedMs()
    const seconds = Math.round(toldMs / 1_000)
    if (isLast) log.warn('upgraded the store', { file, seconds })
    else log.warn('upgrading the store', { file, megabytes: Math.ceil(bytes / 1e6), done, total })
  }
}
