import { busyTimeoutMs, type Database, type Statement } from './database.ts'
import { pragma } from './schema.ts'

/** Pages in the write-ahead log that wait to be copied into the file. */
const waitingPagesMax = 1_000

/** Pages in the log from which on readers are waited for, so that it can begin anew. */
const logPagesMax = 16_000

/** What the log has in front of everything, and in front of each page. */
const [logHeaderBytes, pageHeaderBytes] = [32, 24]

/** How long they are waited for, in milliseconds. */
const patienceMs = 200

/** The largest page that SQLite has: a file may lack its last one until a checkpoint. */
const lastPageBytes = 65_536

/** Pages in the log, and how many of them are in the file as well. */
interface LogPages {
  readonly log: number
  readonly checkpointed: number
}

/**
 * Copies the write-ahead log into the file, now and then. SQLite would do so within a commit, and keep
 * the caller waiting.
 */
export class Checkpoints {
  readonly #database: Database
  readonly #pageBytes: number
  readonly #look: Statement
  readonly #copy: Statement
  readonly #beginAnew: Statement
  /** Pages in the log at the last time, so that a reader who is in the way costs no time again and again. */
  #lastLog = 0

  constructor(database: Database) {
    this.#database = database
    this.#pageBytes = pragma(database, 'page_size')
    database.exec('PRAGMA wal_autocheckpoint = 0')
    this.#look = database.prepare('PRAGMA wal_checkpoint(NOOP)')
    this.#copy = database.prepare('PRAGMA wal_checkpoint(PASSIVE)')
    this.#beginAnew = database.prepare('PRAGMA wal_checkpoint(RESTART)')
  }

  /** How long the log is at the least, in bytes. */
  logBytes(): number {
    const { log } = this.#pages()
    return log === 0 ? 0 : logHeaderBytes + log * (pageHeaderBytes + this.#pageBytes)
  }

  /**
   * How long the file is at the least, in bytes: all pages of the database but those in the log. SQLite
   * itself refuses to copy the log into a file that is shorter.
   */
  fileBytesMin(): number {
    return pragma(this.#database, 'page_count') * this.#pageBytes - this.logBytes() - lastPageBytes
  }

  /** Copies if it is time to; says whether it tried. */
  runWhenDue(): boolean {
    const { log, checkpointed } = this.#pages()
    if (log < this.#lastLog) this.#lastLog = 0
    // A reader that was waited for in vain stays for long: every wait keeps callers waiting too.
    const waitingMin = this.#lastLog < logPagesMax ? waitingPagesMax : log / 5
    if (log - Math.max(checkpointed, this.#lastLog) < waitingMin) return false
    this.#lastLog = log
    try {
      if (log < logPagesMax) this.#copy.get()
      else this.#waitForReaders()
    } catch {
      // The pages stay in the log, where every reader finds them; the next time may do better.
    }
    return true
  }

  /** Copies everything, as far as readers let it, so that the log can go. */
  finish(): void {
    try {
      this.#database.exec('PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)')
    } catch {
      // The next one who opens the file finds the pages in the log.
    }
  }

  #pages(): LogPages {
    return this.#look.get() as LogPages
  }

  #waitForReaders(): void {
    this.#database.exec(`PRAGMA busy_timeout = ${patienceMs}`)
    try {
      this.#beginAnew.get()
    } finally {
      this.#database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
    }
  }
}
