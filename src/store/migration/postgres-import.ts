import { processGoneMs } from '../../delivery/index.ts'
import type { EvrouteError } from '../../model/index.ts'
import { unusable } from '../store-errors.ts'
import { moveOpenCode } from '../postgres/store-error.ts'
import { readLedger } from '../postgres/counts.ts'
import { Database, databaseTitle, runScript, type Session } from '../postgres/database.ts'
import { RequestPartitions } from '../postgres/request-partitions.ts'
import { expectTables, migrate, schemaLock } from '../postgres/schema.ts'
import type { Move } from '../sqlite/moves.ts'
import {
  countsOf,
  movedTables,
  type MovedColumn,
  type MovedTable,
  type Row,
  type StoreFigures,
} from './moved-tables.ts'

/** The row of a move that has begun. */
interface MoveRow {
  readonly store_id: string
  readonly changes: number
  readonly completed_at: number | null
}

/** The state of the store in a database. */
export type TargetState = 'empty' | 'begun' | 'completed'

const connectionsMax = 2

/**
 * Writes a store into a database in one transaction, completely or not at all. Until the move is
 * complete no other process can write to the tables, not even one that opened them before.
 */
export class PostgresImport {
  /** The name of the database in messages, without user and password. */
  readonly place: string
  readonly #database: Database

  private constructor(database: Database, url: string) {
    this.#database = database
    this.place = databaseTitle(url)
  }

  /**
   * Connects to a database, and makes the tables if there are none.
   *
   * @throws EvrouteError `store_unusable` if it cannot be reached or used, or its tables are of a
   * newer version
   */
  static async open(url: string): Promise<PostgresImport> {
    const database = new Database(url, { connectionsMax, isReadOnly: false })
    try {
      await migrate(database)
      return new PostgresImport(database, url)
    } catch (error) {
      await database.close()
      throw error
    }
  }

  /** Connects to a database for reading only. */
  static connectToLook(url: string): PostgresImport {
    return new PostgresImport(new Database(url, { connectionsMax, isReadOnly: true }), url)
  }

  /**
   * Begins the move of a store. From now on, no other process can write. An interrupted move starts over.
   *
   * @param requestDays - the days of its requests, in milliseconds since 1970
   * @throws EvrouteError `store_unusable` if the database contains a different store, or if the store has
   * moved elsewhere
   */
  async begin(move: Move, requestDays: readonly number[]): Promise<TargetState> {
    const state = await this.#long(async (session) => {
      await run(session, `SELECT pg_advisory_xact_lock(${schemaLock})`)
      const state = await this.#stateOf(session, move)
      if (state === 'empty') await this.#refuseWriters(session, move)
      return state
    })
    if (state !== 'completed') await new RequestPartitions(this.#database).make(requestDays)
    return state
  }

  /** Returns the state that {@link begin} would return, and changes nothing. */
  async look(move: Move | undefined): Promise<TargetState> {
    const [row] = await this.#database.rows<{ readonly exists: boolean }>({
      sql: "SELECT to_regclass('evroute_migrations') IS NOT NULL AS exists",
      values: [],
    })
    if (row?.exists !== true) return 'empty'
    await expectTables(this.#database)
    return this.#stateOf(this.#database, move)
  }

  /**
   * Runs the move in one transaction, which commits if the work resolves to true.
   *
   * @param work - writes all rows; it must not run twice
   */
  async complete(
    work: (target: MoveTarget) => Promise<boolean>,
    {
      move,
      idsGiven,
      nowMs,
    }: { readonly move: Move; readonly idsGiven: number; readonly nowMs: number },
  ): Promise<void> {
    await this.#long(async (session) => {
      await this.#hold(session)
      await run(session, passGuard)
      // An interrupted move by an earlier version may have left rows.
      if ((await firstFound(session)) !== undefined) await run(session, truncate)
      if (!(await work(new MoveTarget(session)))) throw new NotCompleted()
      await setSequences(session, idsGiven)
      const sql = 'UPDATE evroute_moves SET changes = $1, completed_at = $2'
      await session.rows({ sql, values: [move.changes, nowMs] })
      await run(session, dropGuard)
    }).catch((error: unknown) => {
      if (!isNotCompleted(error)) throw error
    })
  }

  /** Reads the figures of the database. */
  figures(): Promise<StoreFigures> {
    return this.#long((session) => new MoveTarget(session).figures())
  }

  /** Closes the connections. */
  close(): Promise<void> {
    return this.#database.close()
  }

  #long<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
    return this.#database.transaction(work, { isLong: true })
  }

  async #stateOf(session: Session, move: Move | undefined): Promise<TargetState> {
    const sql = 'SELECT store_id, changes, completed_at FROM evroute_moves'
    const [known] = await session.rows<MoveRow>({ sql, values: [] })
    if (known === undefined) {
      if (move?.target != null) throw movedError(move.target, this.place)
      await this.#expectEmpty(session)
      if (await isDeliveredFrom(session)) throw this.#refusal('a process is delivering from it')
      return 'empty'
    }
    const isCompleted = known.completed_at !== null
    if (known.store_id !== move?.storeId) {
      const why = isCompleted
        ? 'a different store has been moved there'
        : 'the migration of a different store into it is not complete'
      throw this.#refusal(why)
    }
    if (!isCompleted) return 'begun'
    if (known.changes === move.changes) return 'completed'
    throw this.#refusal('it has the store as it was before the file was changed')
  }

  /** Waits for other writers, then refuses all of them. */
  async #refuseWriters(session: Session, move: Move): Promise<void> {
    const tables = movedTables.map(tableName)
    for (const sql of guardStatements(tables)) await run(session, sql)
    await this.#expectEmpty(session)
    const sql = 'INSERT INTO evroute_moves (store_id, changes) VALUES ($1, $2)'
    await session.rows({ sql, values: [move.storeId, move.changes] })
  }

  /** Locks the move. This waits until the server has ended the transaction of a run that was just killed. */
  async #hold(session: Session): Promise<void> {
    await run(session, 'SELECT FROM evroute_moves FOR UPDATE')
  }

  async #expectEmpty(session: Session): Promise<void> {
    const title = await firstFound(session)
    if (title !== undefined) throw this.#refusal(`it already contains ${title}`)
  }

  #refusal(why: string): EvrouteError {
    return unusable(
      `Cannot move a store to ${this.place}: ${why}`,
      'Name an empty database, or a different schema with ?options=-csearch_path%3D<schema>.',
    )
  }
}

/** A database within the transaction of a move. */
export class MoveTarget {
  readonly #session: Session

  /** @param session - the transaction */
  constructor(session: Session) {
    this.#session = session
  }

  /**
   * Returns the columns of a table that move.
   *
   * @param known - the names of the columns that the file has
   */
  async columnsOf(table: MovedTable, known: readonly string[]): Promise<readonly MovedColumn[]> {
    const columns = await this.#session.rows<Pick<MovedColumn, 'name' | 'type'>>({
      sql: `SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
        WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
      values: [tableName(table)],
    })
    return columns.flatMap((column) => {
      const { name } = column
      const source = table.computed[name] ?? (known.includes(name) ? name : undefined)
      return source === undefined ? [] : { ...column, source }
    })
  }

  /**
   * Writes rows of a table.
   *
   * @returns the names of the columns whose stored values differ from the given ones
   */
  async write(
    table: MovedTable,
    columns: readonly MovedColumn[],
    rows: readonly Row[],
  ): Promise<readonly string[]> {
    const names = columns.map(({ name }) => name)
    const list = names.join(', ')
    const arrays = columns.map(({ type }, place) => `$${place + 1}::${type}[]`).join(', ')
    const isLost = (columns: string): string =>
      `EXISTS (SELECT ${columns} FROM given EXCEPT ALL SELECT ${columns} FROM stored)`
    // Compare single columns only after a difference, because each takes as long as whole rows. `OFFSET 0`
    // keeps the planner from comparing whole rows once for each column.
    const lostColumns = names.map((name) => `CASE WHEN is_lost THEN ${isLost(name)} END AS ${name}`)
    const sql = `
      WITH given AS MATERIALIZED (SELECT * FROM unnest(${arrays}) AS given (${list})), stored AS (
        INSERT INTO ${tableName(table)} (${list}) OVERRIDING SYSTEM VALUE SELECT * FROM given
        RETURNING ${list})
      SELECT ${lostColumns.join(', ')} FROM (SELECT ${isLost('*')} AS is_lost OFFSET 0) compared`
    const values = names.map((name) => rows.map((row) => row[name] ?? null))
    const [lost] = await this.#session.rows<Record<string, unknown>>({ sql, values })
    return names.filter((name) => lost?.[name] === true)
  }

  /** Reads the figures of the database. */
  async figures(): Promise<StoreFigures> {
    const session = this.#session
    // Counting reads whole tables.
    await run(session, 'SET LOCAL enable_seqscan = on')
    const counts = await runScript(session, countsOf(tableName))
    return { ...counts, ledger: await readLedger(session, undefined) }
  }
}

const truncate = `TRUNCATE ${movedTables.map(tableName).join(', ')}`

/** Thrown to roll the transaction back. */
class NotCompleted extends Error {}

function isNotCompleted(error: unknown): boolean {
  return error instanceof NotCompleted || (error as Error).cause instanceof NotCompleted
}

function tableName({ name }: MovedTable): string {
  return `evroute_${name}`
}

/** Returns the name of the first kind of rows that the database has; undefined if it is empty. */
async function firstFound(session: Session): Promise<string | undefined> {
  for (const table of movedTables) {
    const sql = `SELECT FROM ${tableName(table)} LIMIT 1`
    if ((await session.rows({ sql, values: [] })).length > 0) return table.title
  }
  return undefined
}

/** Tells whether a process delivers from the database. The move would block that process until its end. */
async function isDeliveredFrom(session: Session): Promise<boolean> {
  const found = await session.rows({
    sql: `SELECT FROM evroute_live_processes
      WHERE beaten_at > extract(epoch FROM clock_timestamp()) * 1000 - $1::bigint LIMIT 1`,
    values: [processGoneMs],
  })
  return found.length > 0
}

/** Sets the sequences, so that new ids follow the assigned ones. */
async function setSequences(session: Session, idsGiven: number): Promise<void> {
  for (const table of movedTables) {
    if (table.sequence === undefined) continue
    const [sequence, column] = table.sequence
    await session.rows({
      sql: `SELECT setval('${sequence}', greatest(last, 1), last > 0)
        FROM (SELECT greatest(coalesce(max(${column}), 0), $1) AS last FROM ${tableName(table)}) ids`,
      values: [table.name === 'deliveries' ? idsGiven : 0],
    })
  }
}

function movedError(where: string, place: string): EvrouteError {
  return unusable(
    `Cannot move the store to ${place}: it has already been moved to ${where}`,
    'Use that store, or name it with --to to finish.',
  )
}

async function run(session: Session, sql: string): Promise<void> {
  await session.rows({ sql, values: [] })
}

const guard = 'evroute_refuse_writers'

/** Lets the transaction write despite `guardStatements`. Each transaction of a move runs it first. */
export const passGuard: string = "SELECT set_config('evroute.moves', 'yes', true)"

/**
 * Returns statements that, once committed, make the database refuse all writes except those of the move.
 * They also stop processes that opened the store earlier, and clients that are not evroute. They wait for
 * transactions that are writing.
 */
function guardStatements(tables: readonly string[]): readonly string[] {
  return [
    `CREATE FUNCTION ${guard}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'a migration into it is not complete' USING ERRCODE = '${moveOpenCode}';
    END $$`,
    ...tables.map(
      (table) => `CREATE TRIGGER ${guard} BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON ${table}
        FOR EACH STATEMENT WHEN (current_setting('evroute.moves', true) IS DISTINCT FROM 'yes')
        EXECUTE FUNCTION ${guard}()`,
    ),
  ]
}

/** Permits all writes again. */
const dropGuard = `DROP FUNCTION IF EXISTS ${guard} CASCADE`
