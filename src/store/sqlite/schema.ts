import { EvrouteError } from '../../model/index.ts'
import type { UpgradeProgress } from '../upgrade.ts'
import { rollBack, type Database } from './database.ts'
import { freeBytesBeside, inMegabytes } from './store-file.ts'
import { tables } from './tables.ts'
import { addUpgradeFunctions, upgradeRoom, upgradeStatements } from './upgrade-statements.ts'

/** Marks a file as evroute's, in the field that SQLite has for it: `evrt`. */
const applicationId = 0x65767274

/** The format of a file, which its `user_version` has, and the one that is upgraded. */
const [format, formatBefore] = [11, 8]

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
  if (isNew(database)) inOneStep(database, () => database.exec(tables))
  else if (storeFormat(database, path) !== format) upgrade(database, path, options)
}

function upgrade(database: Database, path: string, options: UpgradeOptions): void {
  const bytes = pragma(database, 'page_count') * pragma(database, 'page_size')
  expectRoom(path, bytes * upgradeRoom, options)
  addUpgradeFunctions(database)
  const total = upgradeStatements.length
  const tell = (done: number): void => options.onProgress?.({ file: path, bytes, done, total })
  inOneStep(database, () => {
    for (const [done, statement] of upgradeStatements.entries()) {
      tell(done)
      database.exec(statement)
    }
  })
  tell(total)
}

function inOneStep(database: Database, make: () => void): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    make()
    database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${format}`)
    database.exec('COMMIT')
  } catch (error) {
    rollBack(database)
    throw error
  }
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
  if (storeFormat(database, path) === format) return
  throw new EvrouteError({
    code: 'store_unusable',
    message: `Cannot use the store ${path}: an older version of evroute made it`,
    hint: 'Deliver from it once with this version, which brings it up to date.',
  })
}

/** The format of a file: the current one or the one before. */
function storeFormat(database: Database, path: string): number {
  const found = pragma(database, 'user_version')
  if (pragma(database, 'application_id') !== applicationId) {
    throw new EvrouteError({
      code: 'store_unusable',
      message: `Cannot use ${path} as a store: it belongs to another program`,
      hint: 'Name another file; whoever delivers makes it when it does not exist.',
    })
  }
  if (found === format || found === formatBefore) return found
  const [age, hint] =
    found > format
      ? ['a newer version of evroute made it', 'Use that version, or another file.']
      : [
          'a version of evroute made it that is too old',
          `Name another file. Files are upgraded from format ${formatBefore} on.`,
        ]
  throw new EvrouteError({
    code: 'store_unusable',
    message: `Cannot use the store ${path}: ${age}`,
    hint,
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
