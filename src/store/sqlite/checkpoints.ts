import { waitingBriefly, type Database } from './database.ts'
import { pragma } from './schema.ts'
import type { TransactionHooks } from './write-queue.ts'

/** Run a checkpoint once this many pages are in the write-ahead log but not yet in the file. */
const waitingPagesMax = 1_000

/** Once the log has this many pages, checkpoints wait for readers, so that the log can start over. */
const logPagesMax = 16_000

/**
 * Copies the write-ahead log into the file from time to time. SQLite's own checkpoints would run within a
 * commit and delay its caller.
 */
export class Checkpoints implements TransactionHooks {
  readonly #database: Database
  readonly #look
  /** The number of pages in the log at the last checkpoint. A reader may have kept it from copying all of them. */
  #lastLog = 0

  constructor(database: Database) {
    this.#database = database
    database.exec('PRAGMA wal_autocheckpoint = 0')
    this.#look = database.prepare('PRAGMA wal_checkpoint(NOOP)')
  }

  /** Runs a checkpoint if one is due. */
  afterAnswer(): void {
    try {
      const { log, checkpointed } = this.#look.get() as { log: number; checkpointed: number }
      if (log < this.#lastLog) this.#lastLog = 0
      // Waiting for readers delays callers. If it was in vain, wait again only after a fifth of the log is new.
      const waitingMin = this.#lastLog < logPagesMax ? waitingPagesMax : log / 5
      if (log - Math.max(checkpointed, this.#lastLog) < waitingMin) return
      this.#lastLog = log
      if (log < logPagesMax) pragma(this.#database, 'wal_checkpoint(PASSIVE)')
      else waitingBriefly(this.#database, () => pragma(this.#database, 'wal_checkpoint(RESTART)'))
    } catch {
      // Readers find the pages in the log, and the next checkpoint copies them. If the file cannot be used at
      // all, the next transaction reports it.
    }
  }

  /** Copies as much of the log as readers permit. SQLite itself does so only when the last connection closes. */
  finish(): void {
    try {
      this.#database.exec('PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)')
    } catch {
      // Nothing is lost: the next process that opens the file finds the pages in the log.
    }
  }
}
