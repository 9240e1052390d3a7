import { closeSync, openSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { EvrouteError } from '../../model/index.ts'

/** How long a connection waits for one that writes, in milliseconds. */
export const busyTimeoutMs = 5_000

/** A value that SQLite stores. */
export type SqlValue = string | number | null

/** What the store needs of a prepared statement; both bindings have it. */
export interface Statement {
  /** Runs it and tells how many rows it changed. */
  run(...values: readonly SqlValue[]): { readonly changes: number | bigint }
  /** Its first row; undefined when it has none. */
  get(...values: readonly SqlValue[]): unknown
  /** All of its rows. */
  all(...values: readonly SqlValue[]): readonly unknown[]
  /** All of its rows, one at a time. */
  iterate(...values: readonly SqlValue[]): Iterable<unknown>
}

/** What the store needs of a database; both bindings have it. */
export interface Database {
  /** Runs statements that have no values and no rows. */
  exec(sql: string): void
  /** Compiles a statement. */
  prepare(sql: string): Statement
  /** Adds a function that statements can call. */
  function(name: string, compute: (...values: (string | null)[]) => string): void
  /** Closes the file. */
  close(): void
}

/**
 * What a connection may do: make the file where it does not exist, write it, or only read it. A
 * `snapshot` is read without a lock and without its log: only what nobody changes can be.
 */
export type Access = 'create' | 'write' | 'read' | 'snapshot'

/** The same in the words of SQLite's URIs. */
const uriModes: Readonly<Record<Access, string>> = {
  create: 'rwc',
  write: 'rw',
  read: 'ro',
  snapshot: 'ro&immutable=1',
}

interface Binding {
  readonly DatabaseSync: new (path: string) => Database
}

/** The first Node whose own SQLite is used. */
const ownSqliteNodeMajor = 24

/** Older ones can damage a file whose log is reset while it is read. */
const sqliteVersionMin = [3, 51, 3] as const

/**
 * Opens a file with the SQLite of Node, or below Node 24 with one that comes as a package and has the
 * same functions.
 *
 * @throws EvrouteError `store_unusable` for a SQLite that is too old; else whatever SQLite reports
 */
export async function openDatabase(path: string, access: Access = 'create'): Promise<Database> {
  const { DatabaseSync } = await (binding ??= loadBinding())
  refuseOldVersion(DatabaseSync)
  if (access === 'create') makePrivateFile(path)
  return new DatabaseSync(`${pathToFileURL(path).href}?mode=${uriModes[access]}`)
}

/**
 * Makes a file that only its owner can read, where there is none. SQLite gives its log the same mode. What
 * exists is not opened: closing it would end the locks that this process has on it.
 */
function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch {
    // It exists, or SQLite says next why it cannot be made.
  }
}

/**
 * Opens a database in memory.
 *
 * @throws EvrouteError `store_unusable` for a SQLite that is too old
 */
export async function openMemory(): Promise<Database> {
  const { DatabaseSync } = await (binding ??= loadBinding())
  refuseOldVersion(DatabaseSync)
  return new DatabaseSync(':memory:')
}

/** Asks a database in memory: a file that somebody has locked would not answer. */
function refuseOldVersion(DatabaseSync: Binding['DatabaseSync']): void {
  const database = new DatabaseSync(':memory:')
  const row = database.prepare('SELECT sqlite_version() AS version').get()
  database.close()
  const { version } = row as { readonly version: string }
  if (!isOlder(version.split('.').map(Number))) return
  throw new EvrouteError({
    code: 'store_unusable',
    message: `Cannot use SQLite ${version}: it is older than ${sqliteVersionMin.join('.')}`,
    hint: 'Use a newer Node.',
  })
}

/** Looked up once: a process may give up the right to read its own files. */
let binding: Promise<Binding> | undefined

async function loadBinding(): Promise<Binding> {
  const major = Number(process.versions.node.split('.')[0])
  if (major < ownSqliteNodeMajor) return import('@photostructure/sqlite')
  return process.getBuiltinModule('node:sqlite') as unknown as Binding
}

function isOlder(version: readonly number[]): boolean {
  for (const [place, least] of sqliteVersionMin.entries()) {
    const part = version[place] ?? 0
    if (part !== least) return part < least
  }
  return false
}

/** Takes back a transaction that failed. */
export function rollBack(database: Database): void {
  try {
    database.exec('ROLLBACK')
  } catch {
    // SQLite has rolled back by itself, as it does when the disk is full.
  }
}
