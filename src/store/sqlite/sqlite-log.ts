import { statSync, type BigIntStats } from 'node:fs'
import { dirname } from 'node:path'
import type { EvrouteError } from '../../model/index.ts'
import { sleep, stopwatch, systemClock } from '../../runtime/index.ts'
import { readOnlyError, unusable, closedError } from '../store-errors.ts'
import type { StoreLog } from '../store.ts'
import { AudienceRows } from '../audiences/audience-rows.ts'
import { RegulationRows } from '../regulations/regulation-rows.ts'
import { Counts } from './counts.ts'
import { busyTimeoutMs, openDatabase, type Access, type Database } from './database.ts'
import { expectFile, expectOneName, isReadable, realPathOf } from './store-file.ts'
import { FileLog } from './file-log.ts'
import { expectNotMoved } from './moves.ts'
import { expectTables } from './schema.ts'
import { Statements } from './statements.ts'
import { isBusy, isWriteRefused, storeError } from './store-error.ts'
import { WriteQueue } from './write-queue.ts'

/** How long a writer waits for its turn while another process is busy delivering, in milliseconds. */
const patienceMs = 30_000

/** How long SQLite waits for a lock, in milliseconds. Keep it short: SQLite checks ever more rarely as it waits. */
const lookMs = 5

/** Run a checkpoint once the write-ahead log has this many pages. A delivering process usually keeps it shorter. */
const checkpointPages = 32_000

/** A connection, with a `snapshot` if SQLite itself would not notice that the file changes. */
interface Connection {
  readonly database: Database
  readonly snapshot?: Snapshot
}

/**
 * The delivery log of a file from which another process may be delivering. Never makes or upgrades a file, and
 * leaves checkpoints to the delivering process.
 *
 * Only the delivering process knows which deliveries are leased. So `purge` expires no deliveries, and `retry`
 * may make a leased delivery due. If the delivery's current round does not end it, another round follows.
 */
export class SqliteLog extends FileLog implements StoreLog {
  readonly audiences: StoreLog['audiences']
  readonly regulations: StoreLog['regulations']
  readonly #path: string
  readonly #database: Database
  readonly #mayWrite: boolean
  readonly #snapshot: Snapshot | undefined
  readonly #writes: WriteQueue
  #closed: Promise<void> | undefined

  private constructor(path: string, { database, snapshot }: Connection, mayWrite: boolean) {
    const statements = new Statements(database)
    const counts = new Counts(statements)
    super({ statements, counts })
    this.#path = path
    this.#database = database
    this.#mayWrite = mayWrite
    this.#snapshot = snapshot
    this.#writes = new WriteQueue(database, [counts])
    this.audiences = new AudienceRows(this.sql)
    this.regulations = new RegulationRows(this.sql)
  }

  /**
   * Opens an existing file. Without write permission, reading works only while no process delivers from it.
   *
   * @param name - the file, or a symbolic link to it
   * @throws EvrouteError `store_unusable` if it is missing, is not a store, is of a different version, or cannot
   * be opened; for writing, also if it has several hard links
   */
  static async open(name: string, { write }: { readonly write: boolean }): Promise<SqliteLog> {
    let path = name
    let connection: Connection | undefined
    try {
      path = realPathOf(name)
      expectFile(path)
      if (write) expectOneName(path)
      connection = write ? { database: await connect(path, 'write') } : await connectToRead(path)
      return new SqliteLog(path, connection, write)
    } catch (error) {
      connection?.database.close()
      throw storeError(path, error)
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    await this.#writes.idle()
    this.#database.close()
  }

  protected write<Result>(work: () => Result): Promise<Result> {
    return this.read(() => this.#write(work))
  }

  async #write<Result>(work: () => Result): Promise<Result> {
    if (!this.#mayWrite) throw readOnlyError(this.#path)
    const elapsedMs = stopwatch()
    const result = await this.#writes.run(() => {
      expectNotMoved(this.#database, this.#path)
      return work()
    })
    // Pause, so that the delivering process gets its turn between batches.
    await sleep(systemClock, elapsedMs())
    return result
  }

  /** Runs work, and rejects if a snapshot changed meanwhile. */
  async #watched<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    try {
      return await work()
    } finally {
      this.#snapshot?.expectUnchanged()
    }
  }

  #errorOf(error: unknown): EvrouteError {
    // After `close`, the error only says that closing interrupted the work.
    return this.#closed === undefined ? storeError(this.#path, error) : closedError()
  }

  protected async read<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    await Promise.resolve()
    const waitedMs = stopwatch()
    for (;;) {
      if (this.#closed !== undefined) throw closedError()
      try {
        return await this.#watched(work)
      } catch (error) {
        if (!isBusy(error) || waitedMs() > patienceMs) throw this.#errorOf(error)
      }
      await sleep(systemClock, 1)
    }
  }
}

async function connectToRead(path: string): Promise<Connection> {
  try {
    return { database: await connect(path, 'read') }
  } catch (error) {
    if (!isWriteRefused(error) || !isReadable(path)) throw error
    const snapshot = new Snapshot(path)
    return { database: await connect(path, 'snapshot'), snapshot }
  }
}

async function connect(path: string, access: Access): Promise<Database> {
  const database = await openDatabase(path, access)
  try {
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}; PRAGMA synchronous = FULL`)
    database.exec('PRAGMA secure_delete = ON')
    database.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`)
    expectTables(database, path)
    database.exec(`PRAGMA busy_timeout = ${lookMs}`)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/**
 * Notices if a store's file changes while it is read with `snapshot` access. SQLite does not notice, because this
 * process may not even write the shared index of the write-ahead log.
 */
export class Snapshot {
  readonly #path: string
  readonly #stats: BigIntStats

  /** @throws EvrouteError `store_unusable` if part of the store is in the write-ahead log */
  constructor(path: string) {
    this.#path = path
    this.#stats = statSync(path, { bigint: true })
    if (isLogEmpty(path)) return
    const folder = dirname(path)
    throw unusable(
      `Cannot read the store ${path}: part of it is in ${path}-wal, which cannot be read without permission to write to ${folder}`,
      'Read it as a user who may write to that folder, or copy both files to a folder of your own and name the copy.',
    )
  }

  /** @throws EvrouteError `store_unusable` if the file has changed: the rows may be a mix of old and new */
  expectUnchanged(): void {
    const now = statSync(this.#path, { bigint: true })
    const fields = ['dev', 'ino', 'size', 'mtimeNs'] as const
    const isSame = fields.every((field) => now[field] === this.#stats[field])
    if (isSame && isLogEmpty(this.#path)) return
    throw unusable(
      `Cannot read the store ${this.#path}: it changed while it was being read`,
      'Try again.',
    )
  }
}

function isLogEmpty(path: string): boolean {
  const stats = statSync(`${path}-wal`, { throwIfNoEntry: false })
  return stats === undefined || stats.size === 0
}
