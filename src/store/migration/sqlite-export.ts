import type { DeliveryLedger } from '../../model/index.ts'
import { EvrouteError } from '../../model/index.ts'
import { fromStored } from '../stored-text.ts'
import { Counts } from '../sqlite/counts.ts'
import { busyTimeoutMs, openDatabase, type Database, type Statement } from '../sqlite/database.ts'
import { DeliveryLock } from '../sqlite/delivery-lock.ts'
import { expectFile, expectOneName } from '../sqlite/expect-file.ts'
import { beginMove, noteTarget, readMove, type Move } from '../sqlite/moves.ts'
import { realPathOf } from '../sqlite/real-path.ts'
import { expectTables, migrate, pragma } from '../sqlite/schema.ts'
import { isBusy, storeError } from '../sqlite/store-error.ts'
import type { Page, Row, RowKind, RowPlace } from './row-kind.ts'
import { rowKinds } from './row-kinds.ts'
import type { StateCount, StoreFigures } from './store-figures.ts'

/** Whoever delivers from a store writes to it for shorter. */
const writtenForMs = 500

/** Holds the store still, or only reads it as it was when it was opened. */
type Hold = 'alone' | 'beside others'

/** How a store is read to move it. */
export interface ExportOptions {
  /** Makes what the store is known by where it goes. */
  readonly newId: () => string
  /** Rows in a page at the most; as many as suit their kind by default. */
  readonly pageRowsMax?: number | undefined
}

interface ExportParts {
  readonly lock?: DeliveryLock | undefined
  readonly pageRowsMax?: number | undefined
}

interface StateRow {
  readonly destination_id: string
  readonly state: StateCount['state']
  readonly deliveries: number
}

/**
 * Reads all that is in a store's file. Nobody delivers from it meanwhile or changes it otherwise; it can
 * be read.
 */
export class SqliteExport {
  readonly path: string
  readonly #database: Database
  readonly #lock: DeliveryLock | undefined
  readonly #pageRowsMax: number
  readonly #pages = new Map<string, Statement>()

  private constructor(
    path: string,
    database: Database,
    { lock, pageRowsMax = Infinity }: ExportParts,
  ) {
    this.path = path
    this.#database = database
    this.#lock = lock
    this.#pageRowsMax = pageRowsMax
  }

  /**
   * Opens a store to move it; one of an older version is brought up to date.
   *
   * @throws EvrouteError `store_in_use` when a process delivers from it or moves it, `store_unusable` when
   * it is no store, of a newer version, or cannot be opened
   */
  static open(name: string, { newId, pageRowsMax }: ExportOptions): Promise<SqliteExport> {
    return openExport(name, 'alone', (path, database, lock) => {
      // An empty file is no store, and is not made one here.
      if (pragma(database, 'application_id') === 0) expectTables(database, path)
      migrate(database, path)
      beginMove(database, newId)
      database.exec('BEGIN IMMEDIATE')
      return new SqliteExport(path, database, { lock, pageRowsMax })
    })
  }

  /**
   * Opens a store to look at it, beside whoever delivers from it.
   *
   * @throws EvrouteError `store_unusable` when it is no store, of another version, or cannot be opened
   */
  static look(name: string): Promise<SqliteExport> {
    return openExport(name, 'beside others', (path, database) => {
      expectTables(database, path)
      database.exec('BEGIN')
      return new SqliteExport(path, database, {})
    })
  }

  /** How the move of the store stands; undefined where none was begun. */
  get move(): Move | undefined {
    return this.#read(() => readMove(this.#database))
  }

  /** Rows of a kind behind a place, in the order of their key. */
  page(kind: RowKind, after: RowPlace | null): Page {
    return this.#read(() => {
      const key = `${kind.name} ${after === null ? 'first' : 'next'}`
      const statement = this.#pages.get(key) ?? this.#database.prepare(pageSql(kind, after))
      this.#pages.set(key, statement)
      const rows = statement.all(...(after ?? []), this.#pageRows(kind)) as readonly Row[]
      const last = rows.at(-1)
      return {
        kind,
        after,
        last: last === undefined ? null : kind.placeOf(last),
        rows: rows.map(kind.convert),
      }
    })
  }

  /** The page behind another one; empty where that was the last. */
  pageBehind({ kind, last, rows }: Page): Page {
    if (rows.length < this.#pageRows(kind)) return { kind, after: last, last: null, rows: [] }
    return this.page(kind, last)
  }

  /** How many rows of a kind there are, or how many up to a place. */
  count(kind: RowKind, upTo: RowPlace | null = null): number {
    const where = upTo === null ? '' : `WHERE ${tupleOf(kind)} <= (${placesOf(upTo)})`
    const sql = `SELECT count(*) AS count FROM ${kind.source} ${where}`
    return this.#read(() => {
      const row = this.#database.prepare(sql).get(...(upTo ?? []))
      return (row as { readonly count: number }).count
    })
  }

  /** How many ids of deliveries were given out. */
  get idsGiven(): number {
    return this.#read(() => new Counts(this.#database).lastId())
  }

  /** What is in the store. */
  figures(): StoreFigures {
    const rows = rowKinds.map((kind) => ({ title: kind.title, rows: this.count(kind) }))
    return { rows, states: this.#states(), ledger: this.#ledger() }
  }

  /** Notes where the store is now, on the disk, or that it is here after all. It is held no more. */
  noteTarget(target: string | null): void {
    this.#read(() => {
      noteTarget(this.#database, target)
      this.#database.exec('COMMIT')
    })
  }

  /** Lets others use the store. */
  close(): void {
    try {
      // A connection whose statements were not thrown away yet would go on holding the file.
      this.#database.exec('ROLLBACK')
    } catch {
      // The transaction has ended, with what was noted or by an error.
    }
    this.#database.close()
    this.#lock?.release()
  }

  #pageRows({ pageRows }: RowKind): number {
    return Math.min(pageRows, this.#pageRowsMax)
  }

  #ledger(): DeliveryLedger {
    return this.#read(() => new Counts(this.#database).ledger())
  }

  #states(): readonly StateCount[] {
    const sql = `SELECT destination_id, state, count(*) AS deliveries FROM deliveries
      GROUP BY destination_id, state ORDER BY destination_id, state`
    const rows = this.#read(() => this.#database.prepare(sql).all() as readonly StateRow[])
    return rows.map(({ destination_id: id, state, deliveries }) => ({
      destinationId: fromStored(id),
      state,
      deliveries,
    }))
  }

  #read<Result>(work: () => Result): Result {
    try {
      return work()
    } catch (error) {
      throw storeError(this.path, error)
    }
  }
}

async function openExport(
  name: string,
  hold: Hold,
  begin: (path: string, database: Database, lock: DeliveryLock | undefined) => SqliteExport,
): Promise<SqliteExport> {
  let path = name
  let lock: DeliveryLock | undefined
  let database: Database | undefined
  try {
    path = realPathOf(name)
    expectFile(path)
    if (hold === 'alone') {
      expectOneName(path)
      lock = await takeLock(path)
    }
    database = await openDatabase(path, hold === 'alone' ? 'write' : 'read')
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}; PRAGMA synchronous = FULL`)
    // Bringing a file of an older version up to date leaves nothing of its tables behind.
    database.exec('PRAGMA secure_delete = ON')
    return begin(path, database, lock)
  } catch (error) {
    database?.close()
    lock?.release()
    throw storeError(path, error)
  }
}

async function takeLock(path: string): Promise<DeliveryLock> {
  try {
    return await DeliveryLock.take(path)
  } catch (cause) {
    if (!(cause instanceof EvrouteError) || cause.code !== 'store_in_use') throw cause
    if (await isHeldStill(path)) {
      throw new EvrouteError({
        code: 'store_in_use',
        message: `Cannot move ${path}: another process does so`,
        hint: 'Wait until it has ended. Where it could not complete the move, this goes on with it.',
        cause,
      })
    }
    throw new EvrouteError({
      code: 'store_in_use',
      message: `Cannot move ${path}: a process delivers from it`,
      hint: 'End that process, then try again.',
      cause,
    })
  }
}

/** Whether somebody lets nobody write to a store, from beginning to end. */
async function isHeldStill(path: string): Promise<boolean> {
  const database = await openDatabase(path, 'write')
  try {
    database.exec(`PRAGMA busy_timeout = ${writtenForMs}; BEGIN IMMEDIATE; ROLLBACK`)
    return false
  } catch (error) {
    if (isBusy(error)) return true
    throw error
  } finally {
    database.close()
  }
}

/** Reads a page of rows behind a place, or the first one. */
export function pageSql(kind: RowKind, after: RowPlace | null): string {
  const columns = kind.columns.map(({ name, source }) => `${source} AS ${name}`).join(', ')
  const where = after === null ? '' : `WHERE ${tupleOf(kind)} > (${placesOf(after)})`
  const order = kind.key.map(({ name }) => name).join(', ')
  return `SELECT ${columns} FROM ${kind.source} ${where} ORDER BY ${order} LIMIT ?`
}

function tupleOf({ key }: RowKind): string {
  return `(${key.map(({ name }) => name).join(', ')})`
}

function placesOf(place: RowPlace): string {
  return place.map(() => '?').join(', ')
}
