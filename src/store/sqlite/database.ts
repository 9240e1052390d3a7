import { closeSync, openSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { unusable } from '../store-errors.ts'

/** How long a connection waits while another connection writes, in milliseconds. */
export const busyTimeoutMs = 5_000

/** How long work that can be postponed waits for other connections, in milliseconds. */
const patienceMs = 200

/** A value in a row. No column holds blobs. */
export type SqlValue = string | number | null

/** The methods of a prepared statement that the store uses. Both SQLite packages have them. */
export interface Statement {
  run(...values: readonly SqlValue[]): { readonly changes: number | bigint }
  /** Returns the first row; undefined if there is none. */
  get(...values: readonly SqlValue[]): unknown
  all(...values: readonly SqlValue[]): readonly unknown[]
  /** Iterates over the rows, reading one at a time. */
  iterate(...values: readonly SqlValue[]): Iterable<unknown>
}

/** The methods of a database that the store uses. Both SQLite packages have them. */
export interface Database {
  /** Runs statements that take no values and return no rows. */
  exec(sql: string): void
  prepare(sql: string): Statement
  /** Adds an SQL function. */
  function(name: string, compute: (...values: (string | null)[]) => string): void
  close(): void
}

/** The permissions of a connection: create a missing file, write, or only read. */
export type Access = 'create' | 'write' | 'read'

const uriModes: Readonly<Record<Access, string>> = {
  create: 'rwc',
  write: 'rw',
  read: 'ro',
}

interface Binding {
  readonly DatabaseSync: new (path: string) => Database
}

/** Node's own SQLite is used from this major version on. */
const ownSqliteNodeMajor = 24

/**
 * The oldest version of SQLite that is safe. Older ones can damage a file when its write-ahead log is reset
 * while being read.
 */
const sqliteVersionMin = '3.51.3'

/**
 * Opens a file with Node's SQLite. Before Node 24, uses a package with the same API instead.
 *
 * @throws EvrouteError `store_unusable` if SQLite is too old; otherwise SQLite's own error
 */
export async function openDatabase(path: string, access: Access = 'create'): Promise<Database> {
  const { DatabaseSync } = await (binding ??= loadBinding())
  refuseOldVersion(DatabaseSync)
  if (access === 'create') makePrivateFile(path)
  return new DatabaseSync(`${pathToFileURL(path).href}?mode=${uriModes[access]}`)
}

/**
 * Creates a missing file with mode 600. SQLite gives the write-ahead log the same mode. An existing file is not
 * opened: closing it would release this process's locks on the file.
 */
function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch {
    // The file already exists, or SQLite will report why it cannot be created.
  }
}

/** Options of a database in memory. */
export interface MemoryOptions {
  /** Grows beyond memory into an unlinked temporary file, so that a killed process leaves nothing behind. */
  readonly growsIntoFile?: boolean
}

/** @throws EvrouteError `store_unusable` if SQLite is too old */
export async function openMemory({ growsIntoFile = false }: MemoryOptions = {}): Promise<Database> {
  const { DatabaseSync } = await (binding ??= loadBinding())
  refuseOldVersion(DatabaseSync)
  return new DatabaseSync(growsIntoFile ? '' : ':memory:')
}

function refuseOldVersion(DatabaseSync: Binding['DatabaseSync']): void {
  // Ask a database in memory: a locked file would not even tell SQLite's version.
  const database = new DatabaseSync(':memory:')
  const row = database.prepare('SELECT sqlite_version() AS version').get()
  database.close()
  const { version } = row as { readonly version: string }
  if (version.localeCompare(sqliteVersionMin, 'en', { numeric: true }) >= 0) return
  throw unusable(
    `Cannot use SQLite ${version}: the version must be at least ${sqliteVersionMin}`,
    'Use a newer version of Node.',
  )
}

/** Loaded only once, because a process may later give up the permission to read its own files. */
let binding: Promise<Binding> | undefined

async function loadBinding(): Promise<Binding> {
  const major = Number(process.versions.node.split('.')[0])
  if (major < ownSqliteNodeMajor) return import('@photostructure/sqlite')
  return process.getBuiltinModule('node:sqlite') as unknown as Binding
}

/** Rolls back a failed transaction, unless SQLite already has. */
export function rollBack(database: Database): void {
  try {
    database.exec('ROLLBACK')
  } catch {
    // SQLite itself rolls back when the disk is full, for example.
  }
}

/** Runs work that waits only briefly for other connections. */
export function waitingBriefly<Result>(database: Database, work: () => Result): Result {
  database.exec(`PRAGMA busy_timeout = ${patienceMs}`)
  try {
    return work()
  } finally {
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
  }
}
