import { unusable } from '../store-errors.ts'
import { memberText, userText } from '../audiences/audience-rows.ts'
import { fromStoredOrNull } from '../stored-text.ts'
import { type Database, rollBack } from './database.ts'
import { sharedTables, tables } from './tables.ts'
import { freeBytesBeside, inMegabytes } from './store-file.ts'

/** Marks a file as evroute's, in SQLite's `application_id`: `evrt` in ASCII. */
const applicationId = 0x65767274

/** The current format of files, in SQLite's `user_version`. */
const format = 12

/** Options for bringing a file's tables up to date. */
export interface UpgradeOptions {
  /** Called before each statement, and after the last one. */
  readonly onProgress?: ((progress: UpgradeProgress) => void) | undefined
  /** Returns the free bytes on a file's disk; asks the system by default. */
  readonly freeBytes?: (path: string) => number
}

/**
 * Creates the tables in an empty file, and upgrades those of an older version.
 *
 * @throws EvrouteError `store_unusable` if the file belongs to another program or to a version that is newer or
 * too old to upgrade, or if there is no room for the upgrade
 */
export function migrate(database: Database, path: string, options: UpgradeOptions = {}): void {
  if (isNew(database)) {
    inOneStep(database, () => database.exec(tables))
    return
  }
  const found = storeFormat(database, path)
  if (found !== format) upgrade({ database, path, found }, options)
}

function upgrade(
  { database, path, found }: { database: Database; path: string; found: number },
  options: UpgradeOptions,
): void {
  const bytes = pragma(database, 'page_count') * pragma(database, 'page_size')
  const steps = upgrades.filter(({ from }) => from >= found)
  expectRoom(path, bytes * Math.max(...steps.map(({ room }) => room)), options)
  addUpgradeFunctions(database)
  const statements = steps.flatMap(({ sql }) => statementsOf(sql))
  const total = statements.length
  const tell = (done: number): void => options.onProgress?.({ file: path, bytes, done, total })
  inOneStep(database, () => {
    for (const [done, statement] of statements.entries()) {
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

/** Checks for room first, because without it the upgrade would fail after minutes. */
function expectRoom(
  path: string,
  neededBytes: number,
  { freeBytes = freeBytesBeside }: UpgradeOptions,
): void {
  const free = freeBytes(path)
  if (free >= neededBytes) return
  throw unusable(
    `Cannot upgrade the store ${path}: the upgrade temporarily needs about ${inMegabytes(neededBytes)}, but only ${inMegabytes(free)} are free`,
    'Free up space on its disk, or move the file to a different disk. The file is unchanged.',
  )
}

/**
 * Checks that a file has the tables of this version, and changes nothing.
 *
 * @throws EvrouteError `store_unusable` for an empty file, or for a file of a different program or version
 */
export function expectTables(database: Database, path: string): void {
  if (isNew(database)) {
    throw unusable(
      `Cannot use the store ${path}: the file contains no store yet`,
      'Start `evroute serve` on it once, which creates the store, or name a different file.',
    )
  }
  if (storeFormat(database, path) === format) return
  throw unusable(
    `Cannot use the store ${path}: it was created by an older version of evroute`,
    'To upgrade it, start `evroute serve` of this version on it once.',
  )
}

/** Returns the format of a file; throws unless it is the current one or can be upgraded. */
function storeFormat(database: Database, path: string): number {
  const found = pragma(database, 'user_version')
  if (pragma(database, 'application_id') !== applicationId) {
    throw unusable(
      `Cannot use ${path} as a store: it belongs to another program`,
      'Name a different file.',
    )
  }
  if (found === format || upgrades.some(({ from }) => from === found)) return found
  const [age, hint] =
    found > format
      ? ['it was created by a newer version of evroute', 'Use that version, or a different file.']
      : [
          'it was created by a version of evroute that is too old',
          `Name a different file. This one has format ${found}; evroute upgrades format ${upgrades[0].from} and later.`,
        ]
  throw unusable(`Cannot use the store ${path}: ${age}`, hint)
}

/** Returns the value of a numeric PRAGMA. */
export function pragma(database: Pick<Database, 'prepare'>, name: string): number {
  const row = database.prepare(`PRAGMA ${name}`).get() as Readonly<Record<string, number>>
  return Object.values(row)[0] ?? 0
}

function isNew(database: Database): boolean {
  if (pragma(database, 'application_id') !== 0) return false
  return database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
}

const present = (column: string): string =>
  `CASE ${column} WHEN '' THEN NULL WHEN char(26) THEN '' ELSE ${column} END`

/**
 * Upgrades format 8 to format 11: members get text keys, and deliveries get columns for a first try that succeeded.
 * The index of untried deliveries is dropped, because a claim now finds them by lane.
 */
const upgradeFrom8 = `
  ALTER TABLE audiences ADD COLUMN sync INTEGER;
  ALTER TABLE members RENAME TO members_before;
  ${sharedTables}
  INSERT INTO members
    SELECT audience_id, user_text_of(user_id, anonymous_id),
      member_text_of(user_id, anonymous_id, email), number, user_id, anonymous_id, email, value
    FROM (SELECT audience_id, number, value, ${present('user_id')} AS user_id,
      ${present('anonymous_id')} AS anonymous_id, ${present('email')} AS email FROM members_before);
  DROP TABLE members_before;
  ALTER TABLE deliveries ADD COLUMN try_url TEXT;
  ALTER TABLE deliveries ADD COLUMN try_at INTEGER;
  ALTER TABLE deliveries ADD COLUMN try_duration REAL;
  ALTER TABLE deliveries ADD COLUMN try_status INTEGER;
  ALTER TABLE deliveries ADD COLUMN try_excerpt TEXT;
  DROP INDEX deliveries_untried;
`

/**
 * Upgrades format 11 to format 12: deliveries get a trace context. Erasures went through deliveries by id, and
 * now go by destination, so they restart their current stage.
 */
const upgradeFrom11 = `
  ALTER TABLE deliveries ADD COLUMN traceparent TEXT;
  UPDATE regulations SET at_key = '', at_id = 0;
`

/**
 * The formats that can be upgraded, each with the SQL for the next one. `room` is the temporary space that the SQL
 * needs, as a share of the file's size.
 */
const upgrades = [
  { from: 8, room: 0.5, sql: upgradeFrom8 },
  { from: 11, room: 0, sql: upgradeFrom11 },
] as const

function statementsOf(sql: string): readonly string[] {
  return sql.split(/;\s*\n/).filter((statement) => statement.trim() !== '')
}

/** Adds the SQL functions that compute the keys of members during an upgrade. */
function addUpgradeFunctions(database: Database): void {
  const raw = fromStoredOrNull
  // Name every parameter, because SQLite takes the number of arguments from the function.
  database.function('user_text_of', (userId, anonymousId) =>
    userText({ userId: raw(userId), anonymousId: raw(anonymousId) }),
  )
  database.function('member_text_of', (userId, anonymousId, email) =>
    memberText({ userId: raw(userId), anonymousId: raw(anonymousId), email: raw(email) }),
  )
}

/** The progress of an upgrade, in statements. */
export interface UpgradeProgress {
  readonly file: string
  /** The size of the file before the upgrade, in bytes. */
  readonly bytes: number
  readonly done: number
  readonly total: number
}
