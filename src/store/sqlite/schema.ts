import { EvrouteError } from '../../model/index.ts'
import type { UpgradeProgress } from '../upgrade.ts'
import { rollBack, type Database } from './database.ts'
import { freeBytesBeside, inMegabytes } from './disk-room.ts'
import { tables } from './tables.ts'
import { addUpgradeFunctions, oldestFormat, upgrades, type Upgrade } from './upgrades.ts'

/** Marks a file as evroute's, in the field that SQLite has for it: `evrt`. */
const applicationId = 0x65767274

/** The format of a file, which its `user_version` has. */
const format = oldestFormat + upgrades.length

/** Options of an upgrade. */
export interface UpgradeOptions {
  /** Is called before every statement, and after the last. */
  readonly onProgress?: ((progress: UpgradeProgress) => void) | undefined
  /** The free bytes on the disk of a file; those that the system reports by default. */
  readonly freeBytes?: (path: string) => number
}

/**
 * Upgrades a file to the tables of this version, and leaves an upgraded one as it is.
 *
 * @throws EvrouteError `store_unusable` for a file of another program, of a newer evroute or of one
 * that is too old, and if there is no room for the upgrade
 */
export function migrate(database: Database, path: string, options: UpgradeOptions = {}): void {
  if (isNew(database)) {
    takeStep(database, format, () => database.exec(tables))
    return
  }
  const found = storeFormat(database, path)
  if (found < oldestFormat) throw tooOldError(path)
  const steps = upgrades.slice(found - oldestFormat)
  if (steps.length > 0) upgrade(database, { path, found, steps }, options)
}

function upgrade(
  database: Database,
  file: { readonly path: string; readonly found: number; readonly steps: readonly Upgrade[] },
  options: UpgradeOptions,
): void {
  const { path, found, steps } = file
  const bytes = pragma(database, 'page_count') * pragma(database, 'page_size')
  expectRoom(path, bytes * roomOf(steps), options)
  const total = steps.reduce((sum, { sql }) => sum + statementsOf(sql).length, 0)
  let done = 0
  const tell = (): void => options.onProgress?.({ file: path, bytes, done, total })
  addUpgradeFunctions(database)
  for (const [index, { sql }] of steps.entries()) {
    takeStep(database, found + index + 1, () => {
      for (const statement of statementsOf(sql)) {
        tell()
        database.exec(statement)
        done++
      }
    })
  }
  tell()
}

function takeStep(database: Database, after: number, take: () => void): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    take()
    database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${after}`)
    database.exec('COMMIT')
  } catch (error) {
    rollBack(database)
    throw error
  }
}

function statementsOf(sql: string): readonly string[] {
  return sql.split(/;\s*\n/).filter((statement) => statement.trim() !== '')
}

function roomOf(steps: readonly Upgrade[]): number {
  return steps.reduce((sum, { room }) => sum + room, 0)
}

/** Checked first, because without room the upgrade would fail after minutes. */
function expectRoom(
  path: string,
  neededBytes: number,
  { freeBytes = freeBytesBeside }: UpgradeOptions,
): void {
  const free = freeBytes(path)
  if (free >= neededBytes) return
  throw new EvrouteError({
    code: 'store_unusable',
    message: `Cannot upgrade the store ${path}: that takes about ${inMegabytes(neededBytes)} for a while, and ${inMegabytes(free)} are free`,
    hint: 'Make room on its disk, or move it to another one. The file is as it was.',
  })
}

/**
 * Checks that a file has the tables of this version, and changes nothing.
 *
 * @throws EvrouteError `store_unusable` for an empty file, a file of another program, of an older or a
 * newer evroute
 */
export function expectTables(database: Database, path: string): void {
  if (isNew(database)) {
    throw new EvrouteError({
      code: 'store_unusable',
      message: `Cannot use the store ${path}: the file holds no store yet`,
      hint: 'Deliver from it once, which makes the store, or name another file.',
    })
  }
  const found = storeFormat(database, path)
  if (found === format) return
  if (found < oldestFormat) throw tooOldError(path)
  throw new EvrouteError({
    code: 'store_unusable',
    message: `Cannot use the store ${path}: an older version of evroute made it`,
    hint: 'Deliver from it once with this version, which brings it up to date.',
  })
}

function storeFormat(database: Database, path: string): number {
  const found = pragma(database, 'user_version')
  if (pragma(database, 'application_id') !== applicationId) {
    throw new EvrouteError({
      code: 'store_unusable',
      message: `Cannot use ${path} as a store: it belongs to another program`,
      hint: 'Name another file; whoever delivers makes it when it does not exist.',
    })
  }
  if (found > format) {
    throw new EvrouteError({
      code: 'store_unusable',
      message: `Cannot use the store ${path}: a newer version of evroute made it`,
      hint: 'Use that version, or another file.',
    })
  }
  return found
}

function tooOldError(path: string): EvrouteError {
  return new EvrouteError({
    code: 'store_unusable',
    message: `Cannot use the store ${path}: a version of evroute made it that is too old`,
    hint: 'Name another file. Files are upgraded from format 8 on.',
  })
}

/** The value of a setting of SQLite. */
export function pragma(database: Database, name: string): number {
  const row = database.prepare(`PRAGMA ${name}`).get() as Readonly<Record<string, number>>
  return Object.values(row)[0] ?? 0
}

/** Tells whether a file has no tables yet. */
function isNew(database: Database): boolean {
  if (pragma(database, 'application_id') !== 0) return false
  return database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
}
