import { EvrouteError } from '../../model/index.ts'
import type { Script } from '../sql.ts'
import { keyDigest } from '../postgres/dialect.ts'
import { Counts } from '../sqlite/counts.ts'
import { busyTimeoutMs, openDatabase, type Database, type Statement } from '../sqlite/database.ts'
import { DeliveryLock } from '../sqlite/delivery-lock.ts'
import { expectFile, expectOneName, realPathOf } from '../sqlite/store-file.ts'
import { beginMove, noteTarget, readMove, type Move } from '../sqlite/moves.ts'
import { expectTables, migrate, pragma } from '../sqlite/schema.ts'
import { isBusy, storeError } from '../sqlite/store-error.ts'
import {
  countsOf,
  type MovedColumn,
  type MovedTable,
  type Row,
  type StoreFigures,
} from './moved-tables.ts'

/** A delivering process never writes for longer than this. */
const writtenForMs = 500

/**
 * Reads the state of a store's file at one moment. During a move, other processes can read the file, but not
 * deliver from it or change it.
 */
export class SqliteExport {
  readonly #path: string
  readonly #database: Database
  readonly #lock: DeliveryLock | undefined
  readonly #statements: Statement[] = []

  private constructor(path: string, database: Database, lock?: DeliveryLock) {
    this.#path = path
    this.#database = database
    this.#lock = lock
    database.function('key_digest', (text) => `\\x${keyDigest(text ?? '')}`)
  }

  /**
   * Opens a store to move it. Upgrades it first if it is of an older version.
   *
   * @param newId - makes the id of the store in the target
   * @throws EvrouteError `store_in_use` if a process is delivering from it or moving it; `store_unusable` if
   * it is not a store, is of a newer version, or cannot be opened
   */
  static open(name: string, newId: () => string): Promise<SqliteExport> {
    return openExport(name, 'write', (path, database, lock) => {
      // Refuse an empty file, because `migrate` would turn it into a store.
      if (pragma(database, 'application_id') === 0) expectTables(database, path)
      migrate(database, path)
      beginMove(database, newId)
      database.exec('BEGIN IMMEDIATE')
      return new SqliteExport(path, database, lock)
    })
  }

  /**
   * Opens a store to read it, even while a process delivers from it.
   *
   * @throws EvrouteError `store_unusable` if it is not a store, is of a different version, or cannot be
   * opened
   */
  static look(name: string): Promise<SqliteExport> {
    return openExport(name, 'read', (path, database) => {
      expectTables(database, path)
      database.exec('BEGIN')
      return new SqliteExport(path, database)
    })
  }

  /** The state of the move; undefined if none has begun. */
  get move(): Move | undefined {
    return this.#read(() => readMove(this.#database))
  }

  /** The number of delivery ids that were assigned. */
  get idsGiven(): number {
    return this.#read(() => new Counts(this.#database).lastId())
  }

  /** The days with requests, each as a moment in milliseconds since 1970. */
  get requestDays(): readonly number[] {
    const dayMs = 24 * 60 * 60 * 1_000
    const sql = `SELECT DISTINCT CAST(round(at + duration) AS INTEGER) / ${dayMs} AS day FROM requests`
    const rows = this.#all(sql) as readonly { readonly day: number }[]
    return rows.map(({ day }) => day * dayMs)
  }

  /** Returns the names of the columns of a table. */
  columnNames({ name }: MovedTable): readonly string[] {
    const rows = this.#all(`SELECT name FROM pragma_table_info('${name}')`)
    return (rows as readonly { readonly name: string }[]).map((row) => row.name)
  }

  /** Yields all rows of a table, in parts. */
  *rows(
    { source, ...table }: MovedTable,
    columns: readonly MovedColumn[],
    rowsAtOnce: number = table.rowsAtOnce,
  ): Generator<readonly Row[]> {
    const names = columns.map((column) => `${column.source} AS ${column.name}`)
    const statement = this.#read(() =>
      this.#database.prepare(`SELECT ${names.join(', ')} FROM ${source}`),
    )
    // Keep the statement, because an iterator does not protect it from garbage collection.
    this.#statements.push(statement)
    let some: Row[] = []
    for (const row of statement.iterate()) {
      some.push(row as Row)
      if (some.length < rowsAtOnce) continue
      yield some
      some = []
    }
    if (some.length > 0) yield some
  }

  /** Reads the figures of the store. */
  figures(): StoreFigures {
    const ledger = this.#read(() => new Counts(this.#database).ledger())
    return { ...this.#run(countsOf(({ source }) => source)), ledger }
  }

  /** Writes the new place of the store to disk, and ends the lock. */
  noteTarget(target: string): void {
    this.#read(() => {
      noteTarget(this.#database, target)
      this.#database.exec('COMMIT')
    })
  }

  /** Closes the file, and ends the lock. */
  close(): void {
    try {
      // Roll back first: a connection whose statements are not collected yet would continue to lock the file.
      this.#database.exec('ROLLBACK')
    } catch {
      // The transaction has ended: it committed, or it failed.
    }
    this.#database.close()
    this.#lock?.release()
  }

  #run<Result>(script: Script<Result>): Result {
    let step = script.next()
    while (step.done !== true) step = script.next(this.#all(step.value.sql))
    return step.value
  }

  #all(sql: string): readonly unknown[] {
    return this.#read(() => this.#database.prepare(sql.replaceAll('evroute_', '')).all())
  }

  #read<Result>(work: () => Result): Result {
    try {
      return work()
    } catch (error) {
      throw storeError(this.#path, error)
    }
  }
}

async function openExport(
  name: string,
  access: 'write' | 'read',
  begin: (path: string, database: Database, lock: DeliveryLock | undefined) => SqliteExport,
): Promise<SqliteExport> {
  let path = name
  let lock: DeliveryLock | undefined
  let database: Database | undefined
  try {
    path = realPathOf(name)
    expectFile(path)
    if (access === 'write') {
      expectOneName(path)
      lock = await takeLock(path)
    }
    database = await openDatabase(path, access)
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}; PRAGMA synchronous = FULL`)
    // Overwrite the old tables that an upgrade deletes.
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
    const isMoving = await isHeldStill(path)
    throw new EvrouteError({
      code: 'store_in_use',
      message: `Cannot move ${path}: ${isMoving ? 'another process is already moving it' : 'a process is delivering from it'}`,
      hint: isMoving
        ? 'Wait until that process has ended. If it did not complete the move, try again.'
        : 'Stop that process, and try again.',
      cause,
    })
  }
}

/** Tells whether another process blocks all writes to a store, as a move does. */
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
