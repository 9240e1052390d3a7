import { statSync } from 'node:fs'
import { join } from 'node:path'
import { SettingError } from '../model/index.ts'
import { MemoryStore } from './memory/memory-store.ts'
import { isPostgresUrl } from './postgres/connection-url.ts'
import type { Store, StoreLog } from './store.ts'

const prefix = 'sqlite:'

/** Why a URL names no file, and what to write instead. */
interface Refusal {
  readonly why: string
  readonly hint: string
}

/** How a store is opened. */
export interface OpenStoreOptions {
  /**
   * Is told that another process may have left something to claim; only where several deliver from one
   * store. It can be missed: whoever needs to know looks from time to time.
   */
  readonly onHint?: (() => void) | undefined
}

/**
 * Opens the engine that a URL names: `memory:`, `sqlite:<file>`, whose file is made when it does not
 * exist, or `postgres://user@host/database`, whose tables are.
 *
 * @throws SettingError for any other URL; EvrouteError `store_in_use` or `store_unusable`
 */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<Store> {
  if (url === 'memory:') return new MemoryStore()
  if (isPostgresUrl(url)) {
    const { PostgresStore } = await import('./postgres/postgres-store.ts')
    return PostgresStore.open(url, options)
  }
  const refusal = refusalOf(url, 'it is neither memory:, sqlite:<file> nor postgres://...')
  if (refusal !== undefined) {
    throw new SettingError(
      '--store',
      `Cannot open the store "${url}": ${refusal.why}`,
      refusal.hint,
    )
  }
  // Loaded only where it is asked for: it brings a binary along.
  const { SqliteStore } = await import('./sqlite/sqlite-store.ts')
  return SqliteStore.open(pathOf(url))
}

/**
 * Opens the delivery log of a store that is there, beside a process that may deliver from it. It can
 * be read; with `write` deliveries can be retried as well.
 *
 * @throws SettingError for a URL that names no store; EvrouteError `store_unusable` when the store is
 * missing, not ours, cannot be reached or is of another version
 */
export async function openDeliveryLog(
  url: string,
  options: { readonly write: boolean },
): Promise<StoreLog> {
  if (isPostgresUrl(url)) {
    const { PostgresLog } = await import('./postgres/postgres-log.ts')
    return PostgresLog.open(url, options)
  }
  const refusal = refusalOf(url, 'it is neither sqlite:<file> nor postgres://...')
  if (refusal !== undefined) {
    const message = `Cannot look into the store "${url}": ${refusal.why}`
    throw new SettingError('--store', message, refusal.hint)
  }
  const { SqliteLog } = await import('./sqlite/sqlite-log.ts')
  return SqliteLog.open(pathOf(url), options)
}

function pathOf(url: string): string {
  return url.slice(prefix.length)
}

function refusalOf(url: string, whyNotOurs: string): Refusal | undefined {
  if (!url.startsWith(prefix)) return { why: whyNotOurs, hint: hintFor(url) }
  const path = pathOf(url)
  if (path === '') return { why: 'it names no file', hint: hintFor('') }
  if (path === ':memory:') {
    return {
      why: 'it names no file',
      hint: 'memory: is the engine that forgets; write a file as sqlite:./evroute.db.',
    }
  }
  if (!isFolder(path)) return undefined
  return {
    why: 'it names a folder',
    hint: `Name a file in it: sqlite:${join(path, 'evroute.db')}.`,
  }
}

/** What looks like a path is most likely meant as one. */
function hintFor(url: string): string {
  const isPath = url !== '' && !/^[a-z][a-z\d+.-]+:/i.test(url)
  return `Write it as sqlite:${isPath ? url : './evroute.db'}.`
}

function isFolder(path: string): boolean {
  if (path.endsWith('/')) return true
  try {
    return statSync(path).isDirectory()
  } catch {
    // Not there, or not to be looked at: whoever opens it says so.
    return false
  }
}
