import { EvrouteError } from '../../model/index.ts'
import { audienceTables } from './audience-tables.ts'
import { rollBack, type Database } from './database.ts'
import { firstTables } from './first-tables.ts'
import { expiryIndex } from './expiry-index.ts'
import { lookupIndexes } from './lookup-indexes.ts'
import { moveTables } from './move-tables.ts'
import { numberedTables } from './numbered-tables.ts'
import { purgeIndexes } from './purge-indexes.ts'
import { regulationTables } from './regulation-tables.ts'

/** Marks a file as ours, in the place that SQLite keeps for it: `evrt`. */
const applicationId = 0x65767274

/**
 * The steps from an empty file to the tables of today; the file's `user_version` counts those it has
 * been through. A step that was released is never changed.
 */
const migrations: readonly string[] = [
  firstTables,
  regulationTables,
  audienceTables,
  moveTables,
  numberedTables,
  lookupIndexes,
  expiryIndex,
  purgeIndexes,
]

/**
 * Brings a file to the tables of today; a file that has them is left as it is.
 *
 * @throws EvrouteError `store_unusable` for a file of another program or of a newer evroute
 */
export function migrate(database: Database, path: string): void {
  const version = isNew(database) ? 0 : storeVersion(database, path)
  for (const [index, step] of migrations.entries()) {
    if (index < version) continue
    const after = index + 1
    takeStep(
      database,
      `${step}; PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${after}`,
    )
  }
}

function takeStep(database: Database, sql: string): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    database.exec(`${sql}; COMMIT`)
  } catch (error) {
    rollBack(database)
    throw error
  }
}

/**
 * Makes sure that a file has the tables of today, and changes nothing.
 *
 * @throws EvrouteError `store_unusable` for an empty file, one of another program, of an older or a
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
  if (storeVersion(database, path) === migrations.length) return
  throw new EvrouteError({
    code: 'store_unusable',
    message: `Cannot use the store ${path}: an older version of evroute made it`,
    hint: 'Deliver from it once with this version, which brings it up to date.',
  })
}

function storeVersion(database: Database, path: string): number {
  const version = pragma(database, 'user_version')
  if (pragma(database, 'application_id') !== applicationId) {
    throw new EvrouteError({
      code: 'store_unusable',
      message: `Cannot use ${path} as a store: it belongs to another program`,
      hint: 'Name another file; whoever delivers makes it when it does not exist.',
    })
  }
  if (version > migrations.length) {
    throw new EvrouteError({
      code: 'store_unusable',
      message: `Cannot use the store ${path}: a newer version of evroute made it`,
      hint: 'Use that version, or another file.',
    })
  }
  return version
}

/** The value of one of SQLite's settings. */
export function pragma(database: Database, name: string): number {
  const row = database.prepare(`PRAGMA ${name}`).get() as Readonly<Record<string, number>>
  return Object.values(row)[0] ?? 0
}

/** Tells whether nobody has made anything in a file. */
function isNew(database: Database): boolean {
  if (pragma(database, 'application_id') !== 0) return false
  return database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
}
