import { processGoneMs } from '../../delivery/index.ts'
import type { EvrouteError } from '../../model/index.ts'
import { readLedger } from '../postgres/counts.ts'
import { Database, databaseTitle, runScript, type Session } from '../postgres/database.ts'
import { RequestPartitions } from '../postgres/request-partitions.ts'
import { expectTables, migrate, schemaLock } from '../postgres/schema.ts'
import { moveOpenCode } from '../postgres/store-error.ts'
import type { Move } from '../sqlite/moves.ts'
import { unusable } from '../store-errors.ts'
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

const connectionsMax = 2

/**
 * The database that a store moves to, completely or not at all. Until the move is complete no other process
 * can write to the tables, not even one that opened them before.
 */
export class PostgresImport {
  /** The name of the database in messages, without user and password. */
  readonly place: string
  readonly #database: Database

  /** Connects to the database only when it is first used. */
  constructor(url: string, { isReadOnly }: { readonly isReadOnly: boolean }) {
    this.#database = new Database(url, { connectionsMax, isReadOnly })
    this.place = databaseTitle(url)
  }

  /**
   * Makes the tables if there are none.
   *
   * @throws EvrouteError `store_unusable` if the database cannot be reached or used, or its tables are of a
   * newer version
   */
  makeTables(): Promise<void> {
    return migrate(this.#database)
  }

  /** Tells whether a move is complete, and changes nothing. Throws the errors of {@link begin}. */
  async has(move: Move | undefined): Promise<boolean> {
    const sql = "SELECT WHERE to_regclass('evroute_migrations') IS NOT NULL"
    if ((await this.#database.rows({ sql, values: [] })).length === 0) return false
    await expectTables(this.#database)
    return (await this.#stateOf(this.#database, move)) === 'completed'
  }

  /**
   * Begins the move of a store. From now on, no other process can write. An interrupted move starts over.
   *
   * @param requestDays - the days of its requests, in milliseconds since 1970
   * @returns whether the move is complete already
   * @throws EvrouteError `store_unusable` if the database contains a different store, or if the store has
   * moved elsewhere
   */
  async begin(move: Move, requestDays: readonly number[]): Promise<boolean> {
    const state = await this.#long(async (session) => {
      await run(session, `SELECT pg_advisory_xact_lock(${schemaLock})`)
      const found = await this.#stateOf(session, move)
      if (found !== 'empty') return found
      // The triggers wait for other writers, so only now is it certain that the tables are empty.
      await run(session, ...guardStatements)
      await this.#expectEmpty(session)
      const sql = 'INSERT INTO evroute_moves (store_id, changes) VALUES ($1, $2)'
      await session.rows({ sql, values: [move.storeId, move.changes] })
      return found
    })
    if (state === 'completed') return true
    await new RequestPartitions(this.#database).make(requestDays)
    return false
  }

  /**
   * Runs the move in one transaction. Unless its outcome is `moved`, the database stays empty.
   *
   * @param work - writes all rows
   */
  complete<Outcome extends { readonly kind: string }>(
    work: (session: Session) => Promise<Outcome>,
    { changes, idsGiven, nowMs }: Pick<Move, 'changes'> & { idsGiven: number; nowMs: number },
  ): Promise<Outcome> {
    return this.#long(async (session) => {
      // This waits until the server has ended the transaction of a run that was just killed.
      await run(session, 'SELECT FROM evroute_moves FOR UPDATE', passGuard, 'SAVEPOINT begun')
      // An interrupted move by an earlier version may have left rows.
      if ((await firstFound(session)) !== undefined) {
        await run(session, `TRUNCATE ${movedTables.map(tableName).join(', ')}`)
      }
      const outcome = await work(session)
      if (outcome.kind !== 'moved') {
        await run(session, 'ROLLBACK TO begun')
        return outcome
      }
      await setSequences(session, idsGiven)
      const sql = 'UPDATE evroute_moves SET changes = $1, completed_at = $2'
      await session.rows({ sql, values: [changes, nowMs] })
      await run(session, `DROP FUNCTION IF EXISTS ${guard} CASCADE`)
      return outcome
    })
  }

  /** Reads the figures of the database. */
  figures(): Promise<StoreFigures> {
    return this.#long(figuresIn)
  }

  /** Closes the connections. */
  close(): Promise<void> {
    return this.#database.close()
  }

  #long<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
    return this.#database.transaction(work, { isLong: true })
  }

  async #stateOf(
    session: Session,
    move: Move | undefined,
  ): Promise<'empty' | 'begun' | 'completed'> {
    const sql = 'SELECT store_id, changes, completed_at FROM evroute_moves'
    const [known] = await session.rows<MoveRow>({ sql, values: [] })
    if (known === undefined) {
      if (move?.target != null) {
        throw unusable(
          `Cannot move the store to ${this.place}: it has already been moved to ${move.target}`,
          'Use that store. To finish the migration, pass it as --to.',
        )
      }
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
    throw this.#refusal('this store has already been moved there, but its file has changed since')
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

/**
 * Returns the columns of a table that move.
 *
 * @param known - the names of the columns that the file has
 */
export async function columnsOf(
  session: Session,
  table: MovedTable,
  known: readonly string[],
): Promise<readonly MovedColumn[]> {
  const columns = await session.rows<Pick<MovedColumn, 'name' | 'type'>>({
    sql: `SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
      WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    values: [tableName(table)],
  })
  return columns.flatMap(({ name, type }) => {
    const source = table.computed?.[name] ?? (known.includes(name) ? name : undefined)
    return source === undefined ? [] : { name, type, source }
  })
}

/** Inserts rows. Returns the names of the columns whose stored values differ from the given ones. */
export async function insertRows(
  session: Session,
  {
    table,
    columns,
    rows,
  }: { table: MovedTable; columns: readonly MovedColumn[]; rows: readonly Row[] },
): Promise<readonly string[]> {
  const names = columns.map(({ name }) => name)
  const list = names.join(', ')
  const arrays = columns.map(({ type }, place) => `$${place + 1}::${type}[]`).join(', ')
  const isLost = (lost: string): string =>
    `EXISTS (SELECT ${lost} FROM given EXCEPT ALL SELECT ${lost} FROM stored)`
  // Compare single columns only after a difference, because each takes as long as whole rows. `OFFSET 0`
  // keeps the planner from comparing whole rows once for each column.
  const lostColumns = names.map((name) => `CASE WHEN is_lost THEN ${isLost(name)} END AS ${name}`)
  const sql = `
    WITH given AS MATERIALIZED (SELECT * FROM unnest(${arrays}) AS given (${list})), stored AS (
      INSERT INTO ${tableName(table)} (${list}) OVERRIDING SYSTEM VALUE SELECT * FROM given
      RETURNING ${list})
    SELECT ${lostColumns.join(', ')} FROM (SELECT ${isLost('*')} AS is_lost OFFSET 0) compared`
  const values = names.map((name) => rows.map((row) => row[name] ?? null))
  const [lost] = await session.rows<Record<string, unknown>>({ sql, values })
  return names.filter((name) => lost?.[name] === true)
}

/** Reads the figures of a database, in the current transaction. */
export async function figuresIn(session: Session): Promise<StoreFigures> {
  const counts = await runScript(session, countsOf(tableName))
  return { ...counts, ledger: await readLedger(session, undefined) }
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

async function run(session: Session, ...statements: readonly string[]): Promise<void> {
  for (const sql of statements) await session.rows({ sql, values: [] })
}

const guard = 'evroute_refuse_writers'

/** Lets the transaction write despite `guardStatements`. Each transaction of a move runs it first. */
export const passGuard: string = "SELECT set_config('evroute.moves', 'yes', true)"

/**
 * Once committed, these make the database refuse all writes except those of the move. They also stop
 * processes that opened the store earlier, and clients that are not evroute.
 */
const guardStatements: readonly string[] = [
  `CREATE FUNCTION ${guard}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'a migration into it is not complete' USING ERRCODE = '${moveOpenCode}';
  END $$`,
  ...movedTables.map(
    (table) => `CREATE TRIGGER ${guard} BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE
      ON ${tableName(table)} FOR EACH STATEMENT
      WHEN (current_setting('evroute.moves', true) IS DISTINCT FROM 'yes')
      EXECUTE FUNCTION ${guard}()`,
  ),
]
