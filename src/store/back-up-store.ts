import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { EvrouteError, messageOf, systemCode } from '../model/index.ts'
import type { Database } from './sqlite/database.ts'
import { expectTables } from './sqlite/schema.ts'
import { openFile } from './sqlite/store-file.ts'
import { expectUsable, fileOf, refusalOf } from './store-url.ts'

interface BackUpRequest {
  /** The URL of the store: `sqlite:<file>`. */
  readonly from: string
  /** The file to create, which must not exist. */
  readonly to: string
}

interface BackUp {
  readonly bytes: number
}

/**
 * Copies a snapshot of a store's file, even while a process delivers from it. The copy appears under its name
 * once it is complete and on disk; its mode is 600.
 *
 * Copying is one read transaction: it blocks no writer, but the write-ahead log grows until it ends.
 *
 * @throws SettingError for a URL of another engine; EvrouteError `store_unusable` or `cannot_write_file`
 */
export async function backUpStore({ from, to }: BackUpRequest): Promise<BackUp> {
  const why = 'it must be sqlite:<file>'
  const refusal = /^postgres/i.test(from)
    ? { why, hint: 'Use pg_dump for PostgreSQL.' }
    : refusalOf(from, why)
  expectUsable(from, refusal, { cannot: 'Cannot back up the store' })
  return openFile(fileOf(from), { access: 'read' }, ({ path, database }) => {
    expectTables(database, path)
    const copied = copy(database, resolve(to))
    database.close()
    return copied
  })
}

function copy(database: Database, target: string): BackUp {
  if (statSync(target, { throwIfNoEntry: false }) !== undefined) throw existing(target)
  const part = `${target}.part`
  try {
    // Create the file first: SQLite fills an empty file and keeps its mode.
    closeSync(openSync(part, 'wx', 0o600))
  } catch (error) {
    throw systemCode(error) === 'EEXIST' ? existing(part) : unwritable(target, error)
  }
  try {
    database.prepare('VACUUM INTO ?').run(part)
    sync(part)
    renameSync(part, target)
    sync(dirname(target))
  } catch (error) {
    rmSync(part, { force: true })
    throw unwritable(target, error)
  }
  return { bytes: statSync(target).size }
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function existing(path: string): EvrouteError {
  return new EvrouteError({
    code: 'cannot_write_file',
    message: `Cannot write the backup ${path}: the file already exists`,
    hint: 'Name a new file, or remove this one.',
  })
}

function unwritable(path: string, cause: unknown): EvrouteError {
  return new EvrouteError({
    code: 'cannot_write_file',
    message: `Cannot write the backup ${path}: ${messageOf(cause)}`,
    hint: 'Check that its folder exists, is writable, and has room for a copy of the store.',
    cause,
  })
}
