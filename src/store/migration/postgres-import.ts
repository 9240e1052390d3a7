import { processGoneMs } from '../../delivery/index.ts'
import type { EvrouteError } from '../../model/index.ts'
import { readLedger } from '../postgres/counts.ts'
import { Database, databaseTitle, runScript, type Session } from '../postgres/database.ts'
import { partitionsFor } from '../postgres/request-partitions.ts'
import { expectTables, migrate, runAll } from '../postgres/schema.ts'
import { isLockTimeout } from '../postgres/store-error.ts'
import { sql } from '../sql.ts'
import type { Move } from '../sqlite/moves.ts'
import { unusable } from '../store-errors.ts'
import {
  countsOf,
  movedTables,
  type MovedTable,
  type Row,
  type StoreFigures,
} from './moved-tables.ts'

interface MoveRow {
  readonly store_id: string
  /** Null for a move that an earlier version of evroute began and did not complete. */
  readonly completed_at: number | null
}

const connectionsMax = 2

/** How long to wait for locks. After a move is killed, the server takes a moment to release its locks. */
const lockTimeoutMs = 5_000

/**
 * The database that a store moves to, in one transaction. The transaction locks the tables, so other
 * processes wait for it.
 */
export class PostgresImport {
  readonly #database: Database
  readonly #title: string
  #schema = ''

  /** Connects to the database only when it is first used. */
  constructor(url: string, { isReadOnly }: { readonly isReadOnly: boolean }) {
    this.#database = new Database(url, { connectionsMax, isReadOnly })
    this.#title = databaseTitle(url)
  }

  /** The name of the database, without user and password. Messages show it, and the moved file records it. */
  get place(): string {
    return this.#title + this.#schema
  }

  makeTables(): Promise<void> {
    return migrate(this.#database)
  }

  /**
   * Tells whether a store has already moved here. Takes no locks, and changes nothing.
   *
   * @param move - the mark in the file of the store, if it has one
   * @throws EvrouteError `store_unusable` if the store has moved elsewhere, or if the database is in use or
   * contains something else
   */
  async has(move: Move | undefined): Promise<boolean> {
    const [found] = await this.#database.rows<{
      readonly schema: string
      readonly is_store: boolean
    }>(sql`SELECT current_schema() AS schema, to_regclass('evroute_moves') IS NOT NULL AS is_store`)
    if (found !== undefined && found.schema !== 'public') this.#schema = ` (schema ${found.schema})`
    if (found?.is_store !== true) {
      this.#expectHere(move)
      return false
    }
    await expectTables(this.#database)
    return this.#transaction((session) => this.#isMoved(session, move))
  }

  /**
   * Locks and fills the tables in one transaction. Rolls back on any outcome except `moved`.
   *
   * @returns the outcome of the work; undefined if the store has already moved here
   */
  fill<Outcome extends { readonly kind: string }>(
    { move, requestDays }: { move: Move | undefined; requestDays: readonly number[] },
    work: (session: Session) => Promise<Outcome>,
  ): Promise<Outcome | undefined> {
    const tables = ['evroute_moves', ...movedTables.map(tableName)].join(', ')
    return this.#transaction(async (session) => {
      await runAll(session, [`LOCK TABLE ${tables}`])
      if (await this.#isMoved(session, move)) return undefined
      await runAll(session, [
        // An earlier version protected incomplete moves with triggers that call this function.
        'DROP FUNCTION IF EXISTS evroute_refuse_writers CASCADE',
        // TRUNCATE gives the tables new files, which the server deletes if the move fails.
        `TRUNCATE ${tables}`,
        ...partitionsFor(requestDays),
      ])
      const outcome = await work(session)
      if (outcome.kind !== 'moved') await runAll(session, ['ROLLBACK AND CHAIN'])
      return outcome
    })
  }

  figures(): Promise<StoreFigures> {
    return this.#transaction(figuresIn)
  }

  close(): Promise<void> {
    return this.#database.close()
  }

  #transaction<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
    const inTime = async (session: Session): Promise<Result> => {
      await runAll(session, [`SET LOCAL lock_timeout = ${lockTimeoutMs}`])
      try {
        return await work(session)
      } catch (error) {
        if (isLockTimeout(error)) throw this.#refusal('another process is using it', againHint)
        throw error
      }
    }
    return this.#database.transaction(inTime, { isLong: true })
  }

  async #isMoved(session: Session, move: Move | undefined): Promise<boolean> {
    const [known] = await session.rows<MoveRow>(
      sql`SELECT store_id, completed_at FROM evroute_moves`,
    )
    if (known !== undefined && known.completed_at !== null) {
      if (known.store_id === move?.storeId) return true
      throw this.#refusal('a different store, or a later state of this one, has been moved there')
    }
    this.#expectHere(move)
    const title = known === undefined ? await firstFound(session) : undefined
    if (title !== undefined) {
      throw this.#refusal(`it already contains ${title}`, move && usedHint)
    }
    if (await isDeliveredFrom(session))
      throw this.#refusal('a process is delivering from it', againHint)
    return false
  }

  #expectHere(move: Move | undefined): void {
    if (move === undefined || move.target === this.place) return
    throw unusable(
      `Cannot move the store to ${this.place}: it has already been moved to ${move.target}`,
      'Use that store. To finish the migration, pass it as --to.',
    )
  }

  #refusal(why: string, hint = emptyHint): EvrouteError {
    return unusable(`Cannot move a store to ${this.place}: ${why}`, hint)
  }
}

const againHint = 'Stop that process or wait until it has ended, then run the same command again.'

const emptyHint =
  'Name an empty database, or a different schema that exists, with ?options=-csearch_path%3D<schema>.'

/** The hint if a move marked its file but did not complete, and a process has used the database since. */
const usedHint =
  'The migration was interrupted. Run evroute with this database until all of its deliveries have ended. Then drop its tables, and run `evroute migrate` again.'

/**
 * Inserts rows with all columns of their table. Returns the names of the columns whose stored values differ from
 * the given ones.
 */
export async function insertRows(
  session: Session,
  table: MovedTable,
  rows: readonly Row[],
): Promise<readonly string[]> {
  const name = tableName(table)
  // The server first compares whole rows, with EXISTS. It compares columns only if some rows differ.
  const sql = `
    WITH given AS MATERIALIZED (SELECT * FROM json_populate_recordset(NULL::${name}, $1)), stored AS (
      INSERT INTO ${name} OVERRIDING SYSTEM VALUE SELECT * FROM given RETURNING *)
    SELECT DISTINCT key FROM (
      SELECT field.* FROM given, jsonb_each(to_jsonb(given)) AS field EXCEPT ALL
      SELECT field.* FROM stored, jsonb_each(to_jsonb(stored)) AS field) lost
    WHERE (SELECT EXISTS (SELECT * FROM given EXCEPT ALL SELECT * FROM stored)) ORDER BY key`
  const lost = await session.rows<{ readonly key: string }>({ sql, values: [JSON.stringify(rows)] })
  return lost.map(({ key }) => key)
}

/** Reads the database's counts in the current transaction. */
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

/** Tells whether a process delivers from the database. A move would block that process until the move ends. */
async function isDeliveredFrom(session: Session): Promise<boolean> {
  const found = await session.rows({
    sql: `SELECT FROM evroute_live_processes
      WHERE beaten_at > extract(epoch FROM clock_timestamp()) * 1000 - $1::bigint LIMIT 1`,
    values: [processGoneMs],
  })
  return found.length > 0
}

/** Completes a move: sets the sequences so that new ids follow the assigned ones, and records the move. */
export async function complete(
  session: Session,
  { storeId, idsGiven, nowMs }: { storeId: string; idsGiven: number; nowMs: number },
): Promise<void> {
  for (const table of movedTables) {
    if (table.sequence === undefined) continue
    const [sequence, column] = table.sequence
    await session.rows({
      sql: `SELECT setval('${sequence}', greatest(last, 1), last > 0)
        FROM (SELECT greatest(coalesce(max(${column}), 0), $1) AS last FROM ${tableName(table)}) ids`,
      values: [table.name === 'deliveries' ? idsGiven : 0],
    })
  }
  await session.rows(sql`
    INSERT INTO evroute_moves (store_id, changes, completed_at) VALUES (${storeId}, 0, ${nowMs})`)
}
