import { EvrouteError } from '../../model/index.ts'
import { keyDigest } from '../postgres/dialect.ts'
import { Counts } from '../sqlite/counts.ts'
import { busyTimeoutMs, openDatabase, type Database, type Statement } from '../sqlite/database.ts'
import { DeliveryLock } from '../sqlite/delivery-lock.ts'
import { markMoved, readMove, type Move } from '../sqlite/moves.ts'
import { expectTables, migrate, pragma } from '../sqlite/schema.ts'
import { Statements } from '../sqlite/statements.ts'
import { storeError } from '../sqlite/store-error.ts'
import { expectFile, expectOneName, realPathOf } from '../sqlite/store-file.ts'
import {
  countsOf,
  type MovedColumn,
  type MovedTable,
  type Row,
  type StoreFigures,
} from './moved-tables.ts'

const dayMs = 24 * 60 * 60 * 1_000

/**
 * Reads the state of a store's file at one moment. During a move, other processes can read the file, but not
 * deliver from it or change it.
 */
export class SqliteExport {
  /** The mark of a store that has moved; undefined if it has not. */
  readonly move: Move | undefined
  readonly #path: string
  readonly #database: Database
  readonly #lock: DeliveryLock | undefined
  readonly #statements: Statement[] = []

  private constructor(path: string, database: Database, lock?: DeliveryLock) {
    this.#path = path
    this.#database = database
    this.#lock = lock
    this.move = readMove(database)
    database.function('key_digest', (text) => `\\x${keyDigest(text ?? '')}`)
  }

  /**
   * Opens a store to move it. Upgrades it first if it is of an older version.
   *
   * @throws EvrouteError `store_in_use` if a process is delivering from it or moving it; `store_unusable` if
   * it is not a store, is of a newer version, or cannot be opened
   */
  static open(name: string): Promise<SqliteExport> {
    return openExport(name, 'write', (path, database, lock) => {
      // Refuse an empty file, because `migrate` would turn it into a store.
      if (pragma(database, 'application_id') === 0) expectTables(database, path)
      migrate(database, path)
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

  /** The number of delivery ids that were assigned. */
  get idsGiven(): number {
    return this.#read(() => new Counts(new Statements(this.#database)).lastId())
  }

  /** The days with requests, each as a moment in milliseconds since 1970. */
  get requestDays(): readonly number[] {
    const day = `CAST(round(at + duration) AS INTEGER) / ${dayMs} * ${dayMs}`
    return this.#all(`SELECT DISTINCT ${day} AS day FROM requests`).map((row) => Number(row['day']))
  }

  /** Returns the names of the columns of a table. */
  columnNames({ name }: MovedTable): readonly string[] {
    const sql = `SELECT name FROM pragma_table_info('${name}')`
    return this.#all(sql).map((row) => String(row['name']))
  }

  /** Yields all rows of a table, in parts. */
  *rows(
    table: MovedTable,
    columns: readonly MovedColumn[],
    rowsAtOnce = table.rowsAtOnce ?? 2_000,
  ): Generator<readonly Row[]> {
    const names = columns.map(({ source, name }) => `${source} AS ${name}`).join(', ')
    const statement = this.#read(() =>
      this.#database.prepare(`SELECT ${names} FROM ${sourceOf(table)}`),
    )
    // Keep the statement, because an iterator does not protect it from garbage collection.
    this.#statements.push(statement)
    let some: Row[] = []
    try {
      for (const row of statement.iterate()) {
        some.push(row as Row)
        if (some.length < rowsAtOnce) continue
        yield some
        some = []
      }
    } catch (error) {
      throw storeError(this.#path, error)
    }
    if (some.length > 0) yield some
  }

  /** Reads the figures of the store. */
  figures(): StoreFigures {
    const statements = new Statements(this.#database)
    return this.#read(() => ({
      ...statements.runScript(countsOf(sourceOf)),
      ledger: new Counts(statements).ledger(),
    }))
  }

  /** Marks the file as moved, on disk. */
  mark(move: Move): void {
    this.#read(() => {
      markMoved(this.#database, move)
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

  #all(sql: string): readonly Row[] {
    return this.#read(() => this.#database.prepare(sql).all() as readonly Row[])
  }

  #read<Result>(work: () => Result): Result {
    try {
      return work()
    } catch (error) {
      throw storeError(this.#path, error)
    }
  }
}

function sourceOf({ name, source = name }: MovedTable): string {
  return source
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
    throw new EvrouteError({
      code: 'store_in_use',
      message: `Cannot move ${path}: another process is delivering from it or moving it`,
      hint: 'Stop that process, or wait until it has ended, and try again.',
      cause,
    })
  }
}
