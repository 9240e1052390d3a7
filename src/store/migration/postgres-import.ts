import { processGoneMs } from '../../delivery/index.ts'
import { EvrouteError } from '../../model/index.ts'
import { readLedger } from '../postgres/counts.ts'
import { Database, type Session } from '../postgres/database.ts'
import { dropGuard, guardStatements, passGuard } from '../postgres/move-tables.ts'
import { placeName } from '../postgres/place-name.ts'
import { RequestPartitions } from '../postgres/request-partitions.ts'
import { expectTables, migrate, schemaLock } from '../postgres/schema.ts'
import type { Move } from '../sqlite/moves.ts'
import { fromStored } from '../stored-text.ts'
import { digestSql } from './page-digest.ts'
import {
  nothingReached,
  standingOf,
  type BegunImport,
  type MoveRow,
  type Reached,
} from './move-standing.ts'
import { columnArrays, foundQuery, rangeQuery, writeSql } from './page-statements.ts'
import type { Page } from './row-kind.ts'
import { rowKinds } from './row-kinds.ts'
import type { StateCount, StoreFigures } from './store-figures.ts'

/** What of a page is in the database. */
export interface StoredPage {
  /** How many rows. */
  readonly rows: number
  /** What digestOf says of them. */
  readonly digest: string
}

interface StateRow {
  readonly destination_id: string
  readonly state: StateCount['state']
  readonly deliveries: number
}

/** One statement is under way, and one reads ahead of it. */
const connectionsMax = 2

/**
 * Writes a store into a database, page by page. Each page is one transaction that also notes how far the
 * move has come: it is there whole, and once, whenever who writes it ends.
 *
 * From when it begins until it is complete nobody else can write to the tables of the store, whenever
 * they opened it: what they would be told is there would be compared, or truncated, with what moves.
 */
export class PostgresImport {
  /** How people may know the database, without user and password. */
  readonly place: string
  readonly #database: Database
  readonly #partitions: RequestPartitions
  #reached: Reached = { kind: null, place: null }

  private constructor(database: Database, url: string) {
    this.#database = database
    this.#partitions = new RequestPartitions(database)
    this.place = placeName(url)
  }

  /**
   * Connects to a database; the tables are made where there are none.
   *
   * @throws EvrouteError `store_unusable` when it cannot be reached or used, or its tables are of a newer
   * version
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

  /** Connects to a database to look at it: nothing is changed. */
  static connectToLook(url: string): PostgresImport {
    return new PostgresImport(new Database(url, { connectionsMax, isReadOnly: true }), url)
  }

  /**
   * Begins to move a store, or goes on with it.
   *
   * @throws EvrouteError `store_unusable` where the database holds anything but what was moved of it, or
   * the store was moved elsewhere
   */
  async begin(move: Move): Promise<BegunImport> {
    return this.#database.transaction(async (session) => {
      await run(session, `SELECT pg_advisory_xact_lock(${schemaLock})`)
      // Whoever is still writing a page, because it was killed a moment ago, is waited for.
      const known = await readMove(session, 'FOR UPDATE')
      const begun = await this.#look(session, known, move)
      if (begun.kind === 'completed') return begun
      if (known === undefined) await this.#beginFirst(session, move)
      else if (begun.isAnew) await beginAnew(session, move)
      this.#reached = begun.reached
      return begun
    })
  }

  /** Says what {@link begin} would, and changes nothing. */
  async look(move: Move | undefined): Promise<BegunImport> {
    if (!(await hasTables(this.#database))) return nothingReached
    await expectTables(this.#database)
    return this.#look(this.#database, await readMove(this.#database), move)
  }

  /** Writes a page. */
  async write({ kind, last, rows }: Page): Promise<void> {
    if (kind.name === 'requests') {
      await this.#partitions.make(rows.map((row) => Number(row['written_at'])))
    }
    const reached = { kind: kind.name, place: last }
    const before = this.#reached
    const values = [
      reached.kind,
      JSON.stringify(reached.place),
      before.kind,
      before.place === null ? null : JSON.stringify(before.place),
      ...columnArrays(kind.columns, rows),
    ]
    const name = `move_${kind.name}`
    const [answer] = await this.#database.change(async (session) => {
      await run(session, passGuard)
      return session.rows({ name, sql: writeSql(kind), values })
    })
    if (answer === undefined) throw this.#busyError()
    this.#reached = reached
  }

  /**
   * Looks at what is there and completes the move, all in one transaction.
   *
   * @param look - compares; the move is completed if it says so
   */
  complete(
    look: (stored: StoredStore) => Promise<boolean>,
    { idsGiven, nowMs }: { readonly idsGiven: number; readonly nowMs: number },
  ): Promise<void> {
    return this.#database.transaction(async (session) => {
      await readMove(session, 'FOR UPDATE')
      if (!(await look(new StoredStore(session)))) return
      await setSequences(session, idsGiven)
      await session.rows({ sql: 'UPDATE evroute_moves SET completed_at = $1', values: [nowMs] })
      await run(session, dropGuard)
    })
  }

  /** What is in the database. */
  figures(): Promise<StoreFigures> {
    return this.#database.transaction((session) => new StoredStore(session).figures())
  }

  /** Lets go of the database. */
  close(): Promise<void> {
    return this.#database.close()
  }

  async #look(
    session: Session,
    known: MoveRow | undefined,
    move: Move | undefined,
  ): Promise<BegunImport> {
    if (known === undefined) {
      if (move?.target != null) throw movedError(move.target, this.place)
      await this.#expectEmpty(session)
      if (await isDeliveredFrom(session)) throw this.#refusal('a process delivers from it')
      return nothingReached
    }
    const standing = standingOf(known, move)
    if (standing.kind === 'refused') throw this.#refusal(standing.why)
    return standing
  }

  async #beginFirst(session: Session, move: Move): Promise<void> {
    for (const sql of guardStatements(rowKinds.map(({ table }) => table))) await run(session, sql)
    // Whoever was writing when it was looked at has ended by now.
    await this.#expectEmpty(session)
    const sql = 'INSERT INTO evroute_moves (store_id, changes) VALUES ($1, $2)'
    await session.rows({ sql, values: [move.storeId, move.changes] })
  }

  async #expectEmpty(session: Session): Promise<void> {
    const title = await firstFound(session)
    if (title !== undefined) throw this.#refusal(`it holds ${title} already`)
  }

  #refusal(why: string): EvrouteError {
    return new EvrouteError({
      code: 'store_unusable',
      message: `Cannot move a store to ${this.place}: ${why}`,
      hint: 'Name an empty database, or another schema with ?options=-csearch_path%3D<schema>.',
    })
  }

  #busyError(): EvrouteError {
    return new EvrouteError({
      code: 'store_in_use',
      message: `Cannot go on moving a store to ${this.place}: another process does so`,
      hint: 'Wait until it has ended, then try again.',
    })
  }
}

/** What is in a database, at the moment of a transaction. */
export class StoredStore {
  readonly #session: Session

  /** @param session - the transaction */
  constructor(session: Session) {
    this.#session = session
  }

  /** What of a page is there. */
  async page(page: Page): Promise<StoredPage> {
    const { kind } = page
    const { sql, values } = kind.foundBy === undefined ? rangeQuery(page) : foundQuery(page)
    const [stored] = await this.#session.rows<StoredPage>({
      sql: `SELECT count(*) AS rows, ${digestSql(kind)} AS digest FROM (${sql}) page`,
      values,
    })
    return stored ?? { rows: 0, digest: '' }
  }

  /** What is in it. */
  async figures(): Promise<StoreFigures> {
    const session = this.#session
    // Counting reads everything; a page is found by its key.
    await run(session, 'SET LOCAL enable_seqscan = on')
    const rows = []
    for (const { table, title } of rowKinds) {
      const sql = `SELECT count(*) AS count FROM ${table}`
      const [row] = await session.rows<{ readonly count: number }>({ sql, values: [] })
      rows.push({ title, rows: row?.count ?? 0 })
    }
    const states = await session.rows<StateRow>({
      sql: `SELECT destination_id, state, count(*) AS deliveries FROM evroute_deliveries
        GROUP BY destination_id, state ORDER BY destination_id, state`,
      values: [],
    })
    const ledger = await readLedger(session, undefined)
    await run(session, 'SET LOCAL enable_seqscan = off')
    return {
      rows,
      states: states.map(({ destination_id: id, state, deliveries }) => ({
        destinationId: fromStored(id),
        state,
        deliveries,
      })),
      ledger,
    }
  }
}

async function hasTables(session: Session): Promise<boolean> {
  const [row] = await session.rows<{ readonly exists: boolean }>({
    sql: "SELECT to_regclass('evroute_migrations') IS NOT NULL AS exists",
    values: [],
  })
  return row?.exists ?? false
}

async function readMove(
  session: Session,
  lock: 'FOR UPDATE' | '' = '',
): Promise<MoveRow | undefined> {
  const sql = `SELECT * FROM evroute_moves ${lock}`
  const [row] = await session.rows<MoveRow>({ sql, values: [] })
  return row
}

/** What people call the first rows that are there; undefined where there are none. */
async function firstFound(session: Session): Promise<string | undefined> {
  for (const { table, title } of rowKinds) {
    const found = await session.rows({ sql: `SELECT FROM ${table} LIMIT 1`, values: [] })
    if (found.length > 0) return title
  }
  return undefined
}

/** It would not get any further until the move has ended. */
async function isDeliveredFrom(session: Session): Promise<boolean> {
  const found = await session.rows({
    sql: `SELECT FROM evroute_processes
      WHERE beaten_at > extract(epoch FROM clock_timestamp()) * 1000 - $1::bigint LIMIT 1`,
    values: [processGoneMs],
  })
  return found.length > 0
}

/** What was written is of another moment of the store; nobody else has written anything. */
async function beginAnew(session: Session, { changes }: Move): Promise<void> {
  await run(session, passGuard)
  await run(session, `TRUNCATE ${rowKinds.map(({ table }) => table).join(', ')}`)
  const sql = 'UPDATE evroute_moves SET changes = $1, kind = NULL, position = NULL'
  await session.rows({ sql, values: [changes] })
}

/** Ids go on behind those that were given out. */
async function setSequences(session: Session, idsGiven: number): Promise<void> {
  for (const { name, table, sequence } of rowKinds) {
    if (sequence === undefined) continue
    const [sequenceName, column] = sequence
    await session.rows({
      sql: `SELECT setval('${sequenceName}', greatest(last, 1), last > 0)
        FROM (SELECT greatest(coalesce(max(${column}), 0), $1) AS last FROM ${table}) ids`,
      values: [name === 'deliveries' ? idsGiven : 0],
    })
  }
}

function movedError(where: string, place: string): EvrouteError {
  return new EvrouteError({
    code: 'store_unusable',
    message: `Cannot move the store to ${place}: it was moved to ${where} already`,
    hint: 'Use that store, or name it with --to to finish.',
  })
}

async function run(session: Session, sql: string): Promise<void> {
  await session.rows({ sql, values: [] })
}
