import { EvrouteError } from '../../model/index.ts'
import type { UpgradeProgress } from '../upgrade.ts'
import { audienceTables } from './audience-tables.ts'
import { rollBack, type Database } from './database.ts'
import { freeBytesBeside, inMegabytes } from './disk-room.ts'
import { firstTables } from './first-tables.ts'
import { expiryIndex } from './expiry-index.ts'
import { firstTryColumns } from './first-try-columns.ts'
import { lookupIndexes } from './lookup-indexes.ts'
import { moveTables } from './move-tables.ts'
import { numberedTables } from './numbered-tables.ts'
import { purgeIndexes } from './purge-indexes.ts'
import { regulationTables } from './regulation-tables.ts'
import { addKeyFunctions, sharedTables } from './shared-tables.ts'

/** Marks a file as ours, in the place that SQLite keeps for it: `evrt`. */
const applicationId = 0x65767274

/** A step from one version of the tables to the next. */
interface Step {
  readonly sql: string
  /** Room that it takes for a while in the log and in the file, as a part of the file's size. */
  readonly room: number
}

/**
 * The steps from an empty file to the tables of today; the file's `user_version` counts those it has
 * been through. A step that was released is never changed.
 */
const migrations: readonly Step[] = [
  { sql: firstTables, room: 0 },
  { sql: regulationTables, room: 0 },
  { sql: audienceTables, room: 0 },
  { sql: moveTables, room: 0 },
  { sql: numberedTables, room: 1.2 },
  { sql: lookupIndexes, room: 0.3 },
  { sql: expiryIndex, room: 0 },
  { sql: purgeIndexes, room: 0 },
  { sql: sharedTables, room: 0.5 },
  { sql: firstTryColumns, room: 0 },
]

/** Who hears how far an upgrade has come, and how much room there is. */
export interface UpgradeOptions {
  /** Is called before every statement, and after the last. */
  readonly onProgress?: ((progress: UpgradeProgress) => void) | undefined
  /** Bytes that are free on the disk of a file; what the system says by default. */
  readonly freeBytes?: (path: string) => number
}

/**
 * Brings a file to the tables of today; a file that has them is left as it is.
 *
 * @throws EvrouteError `store_unusable` for a file of another program or of a newer evroute, and where
 * there is no room for the upgrade
 */
export function migrate(database: Database, path: string, options: UpgradeOptions = {}): void {
  const version = isNew(database) ? 0 : storeVersion(database, path)
  const steps = migrations.slice(version)
  if (steps.length === 0) return
  const bytes = pragma(database, 'page_count') * pragma(database, 'page_size')
  const tell = version === 0 ? undefined : options.onProgress
  if (version > 0) expectRoom(path, bytes * roomOf(steps), options)
  const total = steps.reduce((sum, { sql }) => sum + statementsOf(sql).length, 0)
  let done = 0
  addKeyFunctions(database)
  for (const [index, { sql }] of steps.entries()) {
    const after = version + index + 1
    takeStep(database, () => {
      for (const statement of statementsOf(sql)) {
        tell?.({ file: path, bytes, done, total })
        database.exec(statement)
        done++
      }
      database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${after}`)
    })
  }
  tell?.({ file: path, bytes, done, total })
}

function takeStep(database: Database, take: () => void): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    take()
    database.exec('COMMIT')
  } catch (error) {
    rollBack(database)
    throw error
  }
}

function statementsOf(sql: string): readonly string[] {
  return sql.split(/;\s*\n/).filter((statement) => statement.trim() !== '')
}

function roomOf(steps: readonly Step[]): number {
  return steps.reduce((sum, { room }) => sum + room, 0)
}

/** To begin without room would fail after minutes. */
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
