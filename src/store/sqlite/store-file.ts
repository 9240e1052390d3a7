import { existsSync, readlinkSync, realpathSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, sep } from 'node:path'
import { systemCode } from '../../model/index.ts'
import { unusable, MissingStoreError } from '../store-errors.ts'
import { busyTimeoutMs, openDatabase, type Access, type Database } from './database.ts'
import { lockStore, type FileLock } from './file-lock.ts'
import { storeError } from './store-error.ts'

/** How a process uses a store's file. */
interface FileUse {
  readonly access: Access
  /** What this process will do with the file, while no other may do it; by default, the file isn't locked. */
  readonly lockTo?: 'deliver from' | 'move'
  /** Opens the connection; {@link openDatabase} by default. */
  readonly open?: typeof openDatabase
}

/** A connection to a store's file. */
export interface OpenedFile {
  /** The path of the file, without symbolic links. */
  readonly path: string
  readonly database: Database
  readonly lock: FileLock | undefined
}

/**
 * Opens the file of a store. Closes and unlocks it if `begin` throws.
 *
 * @param name - the file, or a symbolic link to it
 * @throws EvrouteError `store_in_use` if another process holds the lock; `store_unusable` if the file or its
 * folder is missing, if a file to write has several hard links, or for an error of SQLite
 */
export async function openFile<Opened>(
  name: string,
  { access, lockTo, open = openDatabase }: FileUse,
  begin: (file: OpenedFile) => Opened,
): Promise<Opened> {
  let path = name
  let lock: FileLock | undefined
  let database: Database | undefined
  try {
    expectNoFolder(name)
    path = realPathOf(name)
    if (access === 'create') expectFolder(path)
    else expectFile(path)
    if (access === 'create' || access === 'write') expectOneName(path)
    lock = lockTo && (await lockStore(path, lockTo))
    database = await open(path, access)
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}; PRAGMA synchronous = FULL`)
    // Overwrite deleted rows, at no measurable cost.
    database.exec('PRAGMA secure_delete = ON')
    return begin({ path, database, lock })
  } catch (error) {
    database?.close()
    lock?.release()
    throw storeError(path, error)
  }
}

/**
 * Returns the path of a file with all symbolic links resolved, even if the file does not exist yet, so that
 * every process finds the same lock and write-ahead log beside it. Returns a path in a missing folder unchanged.
 */
function realPathOf(path: string): string {
  const known = realPathIfThere(path)
  if (known !== undefined) return known
  const folder = realPathIfThere(dirname(path))
  if (folder === undefined) return path
  const missing = join(folder, basename(path))
  const target = linkTarget(missing)
  if (target === undefined) return missing
  // Don't use `join`, which removes the folder before a `..` even if the folder is a link.
  return realPathOf(isAbsolute(target) ? target : `${folder}${sep}${target}`)
}

function realPathIfThere(path: string): string | undefined {
  try {
    // Use `native`, because plain `realpathSync` resolves a `..` as text.
    return realpathSync.native(path)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

function expectNoFolder(path: string): void {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  if (!isFolder && !path.endsWith('/')) return
  throw unusable(
    `Cannot use the store ${path}: it is a folder`,
    `Name a file in it, such as sqlite:${join(path, 'evroute.db')}.`,
  )
}

function expectFolder(path: string): void {
  const folder = dirname(path)
  if (existsSync(folder)) return
  throw unusable(
    `Cannot use the store ${path}: the folder ${folder} does not exist`,
    'Create the folder, or name a different file.',
  )
}

/**
 * Refuses a file with several names (hard links). SQLite finds the write-ahead log by the file's name, so a
 * process that uses a different name would miss changes and damage the file.
 */
function expectOneName(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined || stats.nlink <= 1) return
  throw unusable(
    `Cannot use the store ${path}: the file has ${stats.nlink} names (hard links), so several processes could write to it at once`,
    'Remove its other hard links, or copy the file and name the copy.',
  )
}

function expectFile(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === true) return
  throw new MissingStoreError({
    message: `Cannot use the store ${path}: there is no such file`,
    hint: 'Name the file of an existing store.',
  })
}

/** Returns the free bytes on a file's disk; Infinity if unknown. */
export function freeBytesBeside(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize
  } catch {
    return Infinity
  }
}

/** Formats a size for messages, in megabytes, rounded up. */
export function inMegabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`
}
