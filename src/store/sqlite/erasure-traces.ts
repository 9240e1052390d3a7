import { busyTimeoutMs, type Database, type Statement } from './database.ts'
import type { FileGuard } from './file-guard.ts'
import { isBusy } from './store-error.ts'

/** How long it waits for those who read or write beside it, in milliseconds. */
const patienceMs = 200

/**
 * Leaves nothing in the files but what the tables hold.
 *
 * SQLite overwrites rows that are deleted (`secure_delete`), but not the copies of rows that stay in a
 * page when it moves them to another one: those only go when the whole file is written anew. That takes
 * about half a second per 100 MB, in which nobody is served, and for as long twice the room on the disk.
 */
export class ErasureTraces {
  readonly #database: Database
  readonly #guard: FileGuard
  readonly #emptyLog: Statement

  constructor(database: Database, guard: FileGuard) {
    this.#database = database
    this.#guard = guard
    this.#emptyLog = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)')
  }

  /** Writes every table anew; false while somebody else writes. What was there is still in the log. */
  rewrite(): boolean {
    return this.#alone(() => {
      this.#database.exec('VACUUM')
      return true
    })
  }

  /** Copies the log into the file and cuts it off; false while somebody else reads. */
  emptyLog(): boolean {
    return this.#alone(() => (this.#emptyLog.get() as { readonly busy: number }).busy === 0)
  }

  #alone(work: () => boolean): boolean {
    this.#database.exec(`PRAGMA busy_timeout = ${patienceMs}`)
    try {
      return this.#guard.change(work)
    } catch (error) {
      if (isBusy(error)) return false
      throw error
    } finally {
      this.#database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
    }
  }
}
