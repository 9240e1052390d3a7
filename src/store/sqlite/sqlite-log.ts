import { sleep, stopwatch, systemClock } from '../../runtime/index.ts'
import type { StoreLog } from '../store.ts'
import { AudienceRows } from '../audiences/audience-rows.ts'
import { RegulationRows } from '../regulations/regulation-rows.ts'
import { Counts } from './counts.ts'
import { openFile, type OpenedFile } from './store-file.ts'
import { FileLog } from './file-log.ts'
import { expectNotMoved } from './moves.ts'
import { expectTables } from './schema.ts'
import { Statements } from './statements.ts'
import { isBusy } from './store-error.ts'

/** How long a writer waits for its turn while another process is busy delivering, in milliseconds. */
const patienceMs = 30_000

/** How long SQLite waits for a lock, in milliseconds. Keep it short: SQLite checks ever more rarely as it waits. */
const lookMs = 5

/** Run a checkpoint once the write-ahead log has this many pages. A delivering process usually keeps it shorter. */
const checkpointPages = 32_000

/**
 * The delivery log of a file from which another process may be delivering. Never makes or upgrades a file, and
 * leaves checkpoints to the delivering process.
 *
 * Only the delivering process knows which deliveries are leased. So `retry` may make a leased delivery due. If the
 * delivery's current round does not end it, another round follows.
 */
export class SqliteLog extends FileLog implements StoreLog {
  readonly audiences: StoreLog['audiences']
  readonly regulations: StoreLog['regulations']

  private constructor(file: OpenedFile) {
    const statements = new Statements(file.database)
    super(file, { statements, counts: new Counts(statements) })
    this.audiences = new AudienceRows(this.sql)
    this.regulations = new RegulationRows(this.sql)
  }

  /** Opens an existing file. Throws like {@link openFile} and {@link expectTables}. */
  static open(name: string, { write }: { readonly write: boolean }): Promise<SqliteLog> {
    return openFile(name, { access: write ? 'write' : 'read' }, (file) => {
      const { path, database } = file
      database.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`)
      expectTables(database, path)
      database.exec(`PRAGMA busy_timeout = ${lookMs}`)
      return new SqliteLog(file)
    })
  }

  protected write<Result>(work: () => Result): Promise<Result> {
    return this.read(() => this.#write(work))
  }

  async #write<Result>(work: () => Result): Promise<Result> {
    const elapsedMs = stopwatch()
    const result = await this.writes.run(() => {
      expectNotMoved(this.database, this.path)
      return work()
    })
    // Pause, so that the delivering process gets its turn between batches.
    await sleep(systemClock, elapsedMs())
    return result
  }

  protected async read<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    await Promise.resolve()
    const waitedMs = stopwatch()
    for (;;) {
      this.expectOpen()
      try {
        return await work()
      } catch (error) {
        if (!isBusy(error) || waitedMs() > patienceMs) throw this.errorOf(error)
      }
      await sleep(systemClock, 1)
    }
  }
}
