import { keyDigest } from '../postgres/dialect.ts'
import { Counts } from '../sqlite/counts.ts'
import type { Database } from '../sqlite/database.ts'
import type { FileLock } from '../sqlite/file-lock.ts'
import { markMoved, readMove, type Move } from '../sqlite/moves.ts'
import { expectTables, migrate, pragma } from '../sqlite/schema.ts'
import { Statements } from '../sqlite/statements.ts'
import { storeError } from '../sqlite/store-error.ts'
import { openFile, type OpenedFile } from '../sqlite/store-file.ts'
import { countsOf, type MovedTable, type Row, type StoreFigures } from './moved-tables.ts'

const dayMs = 24 * 60 * 60 * 1_000

/**
 * Reads a snapshot of a store's file. During a move, other processes can read the file, but not deliver from it
 * or change it.
 */
export class SqliteExport {
  /** The mark of a store that has moved; undefined if it has not. */
  readonly move: Move | undefined
  readonly #path: string
  readonly #database: Database
  readonly #lock: FileLock | undefined
  /** Keeps statements, because an iterator does not protect its statement from garbage collection. */
  readonly #statements: Statements

  private constructor({ path, database, lock }: OpenedFile) {
    this.#path = path
    this.#database = database
    this.#lock = lock
    this.#statements = new Statements(database)
    this.move = readMove(database)
    database.function('key_digest', (text) => `\\x${keyDigest(text ?? '')}`)
  }

  /** Opens a store to move it. Upgrades it first if it is of an older version. */
  static open(name: string): Promise<SqliteExport> {
    return openFile(name, { access: 'write', lockTo: 'move' }, (file) => {
      const { path, database } = file
      // Refuse an empty file, because `migrate` would turn it into a store.
      if (pragma(database, 'application_id') === 0) expectTables(database, path)
      migrate(database, path)
      database.exec('BEGIN IMMEDIATE')
      return new SqliteExport(file)
    })
  }

  /** Opens a store to read it, even while a process delivers from it. */
  static look(name: string): Promise<SqliteExport> {
    return openFile(name, { access: 'read' }, (file) => {
      expectTables(file.database, file.path)
      file.database.exec('BEGIN')
      return new SqliteExport(file)
    })
  }

  /** The last delivery id that was assigned. */
  get idsGiven(): number {
    return this.#read(() => new Counts(this.#statements).lastId())
  }

  /** The start of each day with requests, in milliseconds since 1970. */
  get requestDays(): readonly number[] {
    const day = `CAST(round(at + duration) AS INTEGER) / ${dayMs} * ${dayMs}`
    const sql = `SELECT DISTINCT ${day} AS day FROM requests`
    const rows = this.#read(() => this.#statements.all({ sql, values: [] }))
    return rows.map((row) => Number((row as Row)['day']))
  }

  *rows(table: MovedTable, rowsAtOnce = table.rowsAtOnce ?? 2_000): Generator<readonly Row[]> {
    const computed = Object.entries(table.computed ?? {}).map(
      ([name, sql]) => `, ${sql} AS ${name}`,
    )
    const sql = `SELECT *${computed.join('')} FROM ${sourceOf(table)}`
    const statement = this.#read(() => this.#statements.prepare(sql))
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

  figures(): StoreFigures {
    return this.#read(() => ({
      ...this.#statements.runScript(countsOf(sourceOf)),
      ledger: new Counts(this.#statements).ledger(),
    }))
  }

  /** Marks the file as moved. The mark is on disk when this returns. */
  mark(move: Move): void {
    this.#read(() => {
      markMoved(this.#database, move)
      this.#database.exec('COMMIT')
    })
  }

  close(): void {
    try {
      // End the transaction to unlock the file. `close` alone would not: SQLite keeps the connection open until the
      // statements have been garbage-collected.
      this.#database.exec('ROLLBACK')
    } catch {
      // Nothing to roll back: the transaction has already committed or failed.
    }
    this.#database.close()
    this.#lock?.release()
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
