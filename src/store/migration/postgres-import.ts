import { EvrouteError } from '../../model/index.ts'
import { readLedger } from '../postgres/counts.ts'
import { Database, type Query, type Session, type SqlValue } from '../postgres/database.ts'
import { placeName } from '../postgres/place-name.ts'
import { RequestPartitions } from '../postgres/request-partitions.ts'
import { migrate, schemaLock } from '../postgres/schema.ts'
import type { Move } from '../sqlite/moves.ts'
import { fromStored } from '../stored-text.ts'
import { digestSql } from './page-digest.ts'
import type { Column, Page, Row, RowKind, RowPlace } from './row-kind.ts'
import { rowKinds } from './row-kinds.ts'
import type { StateCount, StoreFigures } from './store-figures.ts'

/** Up to where rows are written: those of the kinds before, and of a kind up to a place. */
export interface Reached {
  /** The kind; null before the first page. */
  readonly kind: string | null
  /** The last row; null before the first page. */
  readonly place: RowPlace | null
}

/**
 * How a database stands that a store is to move to.
 *
 * - `begun`: the move goes on behind what it has reached; `isAnew` where what was written was of no use,
 *   because the store was changed since
 * - `completed`: the store is here already
 */
export type BegunImport =
  | { readonly kind: 'begun'; readonly reached: Reached; readonly isAnew: boolean }
  | { readonly kind: 'completed' }

/** What of a page is in the database. */
export interface StoredPage {
  /** How many rows. */
  readonly rows: number
  /** What digestOf says of them. */
  readonly digest: string
}

interface MoveRow {
  readonly store_id: string
  readonly changes: number
  readonly kind: string | null
  readonly position: string | null
  readonly completed_at: number | null
}

interface StateRow {
  readonly destination_id: string
  readonly state: StateCount['state']
  readonly deliveries: number
}

/** One statement is under way, and one reads ahead of it. */
const connectionsMax = 2

/**
 * Writes a store into a database, page by page. Each page is one statement that also notes how far the
 * move has come: it is there whole, and once, whenever who writes it ends.
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

  /**
   * Begins to move a store, or goes on with it.
   *
   * @throws EvrouteError `store_unusable` where the database holds anything but what was moved of it, or
   * the store was moved elsewhere
   */
  async begin(move: Move): Promise<BegunImport> {
    return this.#database.transaction(async (session) => {
      await run(session, `SELECT pg_advisory_xact_lock(${schemaLock})`)
      const known = await lockMove(session)
      if (known === undefined) await this.#beginFirst(session, move)
      else this.#expectSame(known, move)
      if (known !== undefined && known.completed_at !== null) return { kind: 'completed' }
      const isAnew = known !== undefined && known.changes !== move.changes
      if (isAnew) await beginAnew(session, move)
      this.#reached = isAnew ? { kind: null, place: null } : reachedOf(known)
      return { kind: 'begun', reached: this.#reached, isAnew }
    })
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
    const [answer] = await this.#database.rows({ name, sql: writeSql(kind), values })
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
      await lockMove(session)
      await run(session, 'SET LOCAL enable_seqscan = on')
      if (!(await look(new StoredStore(session)))) return
      await setSequences(session, idsGiven)
      await session.rows({ sql: 'UPDATE evroute_moves SET completed_at = $1', values: [nowMs] })
    })
  }

  /** What is in the database. */
  figures(): Promise<StoreFigures> {
    return this.#database.transaction(async (session) => {
      await run(session, 'SET LOCAL enable_seqscan = on')
      return new StoredStore(session).figures()
    })
  }

  /** Lets go of the database. */
  close(): Promise<void> {
    return this.#database.close()
  }

  async #beginFirst(session: Session, move: Move): Promise<void> {
    if (move.target !== null) throw movedError(move.target, this.place)
    for (const { table, title } of rowKinds) {
      const found = await session.rows({ sql: `SELECT FROM ${table} LIMIT 1`, values: [] })
      if (found.length > 0) throw this.#refusal(`it holds ${title} already`)
    }
    const sql = 'INSERT INTO evroute_moves (store_id, changes) VALUES ($1, $2)'
    await session.rows({ sql, values: [move.storeId, move.changes] })
  }

  #expectSame(known: MoveRow, move: Move): void {
    if (known.store_id !== move.storeId) {
      throw this.#refusal(
        known.completed_at === null
          ? 'the migration of another store into it has not ended'
          : 'another store was moved there',
      )
    }
    if (known.completed_at !== null && known.changes !== move.changes) {
      throw this.#refusal('it has the store as it was before somebody changed the file')
    }
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
    return {
      rows,
      states: states.map(({ destination_id: id, state, deliveries }) => ({
        destinationId: fromStored(id),
        state,
        deliveries,
      })),
      ledger: await readLedger(session, undefined),
    }
  }
}

async function lockMove(session: Session): Promise<MoveRow | undefined> {
  // Whoever is still writing a page, because it was killed a moment ago, is waited for.
  const sql = 'SELECT * FROM evroute_moves FOR UPDATE'
  const [row] = await session.rows<MoveRow>({ sql, values: [] })
  return row
}

/** What was written is of another moment of the store. */
async function beginAnew(session: Session, { changes }: Move): Promise<void> {
  await run(session, `TRUNCATE ${rowKinds.map(({ table }) => table).join(', ')}`)
  const sql = 'UPDATE evroute_moves SET changes = $1, kind = NULL, position = NULL'
  await session.rows({ sql, values: [changes] })
}

/** Ids go on behind those that were given out. */
async function setSequences(session: Session, idsGiven: number): Promise<void> {
  for (const { name, table, sequence } of rowKinds) {
    if (sequence === undefined) continue
    await session.rows({
      sql: `SELECT setval('${sequence}', greatest(last, 1), last > 0)
        FROM (SELECT greatest(coalesce(max(id), 0), $1) AS last FROM ${table}) ids`,
      values: [name === 'deliveries' ? idsGiven : 0],
    })
  }
}

function reachedOf(row: MoveRow | undefined): Reached {
  const { kind = null, position = null } = row ?? {}
  return { kind, place: position === null ? null : (JSON.parse(position) as RowPlace) }
}

/** Nothing is written, and nothing answered, where the move is not where it is thought to be. */
function writeSql(kind: RowKind): string {
  const names = kind.columns.map(({ name }) => name).join(', ')
  const arrays = kind.columns.map(({ type }, place) => `$${place + 5}::${type}[]`).join(', ')
  return `
    WITH reached AS (
      UPDATE evroute_moves SET kind = $1, position = $2
      WHERE completed_at IS NULL AND kind IS NOT DISTINCT FROM $3::text
        AND position IS NOT DISTINCT FROM $4::text
      RETURNING 1
    ), written AS (
      INSERT INTO ${kind.table} (${names}) OVERRIDING SYSTEM VALUE
      SELECT page.* FROM unnest(${arrays}) AS page (${names}) WHERE EXISTS (SELECT FROM reached)
    )
    SELECT FROM reached`
}

/** All rows behind the place before a page, up to its last one. */
function rangeQuery({ kind, after, last }: Page): Query {
  const { table, key } = kind
  const names = key.map(({ name }) => name).join(', ')
  const places = (first: number): string =>
    `(${key.map(({ type }, place) => `$${first + place}::${type}`).join(', ')})`
  const behind = after === null ? '' : `AND (${names}) > ${places(1 + key.length)}`
  return {
    sql: `SELECT *, row_number() OVER (ORDER BY ${names}) AS place FROM ${table}
      WHERE (${names}) <= ${places(1)} ${behind}`,
    values: [...(last ?? []), ...(after ?? [])],
  }
}

/** The rows of a page, by what they are found by. */
function foundQuery({ kind, rows }: Page): Query {
  const { table, foundBy = [] } = kind
  const names = foundBy.map(({ name }) => name).join(', ')
  const arrays = foundBy.map(({ type }, place) => `$${place + 1}::${type}[]`).join(', ')
  return {
    sql: `SELECT ${table}.*, place
      FROM unnest(${arrays}) WITH ORDINALITY AS given (${names}, place) JOIN ${table} USING (${names})`,
    values: columnArrays(foundBy, rows),
  }
}

function columnArrays(columns: readonly Column[], rows: readonly Row[]): readonly SqlValue[] {
  return columns.map(({ name }) => rows.map((row) => row[name] ?? null))
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
