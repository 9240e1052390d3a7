import { messageOf } from '../../model/index.ts'
import type { HeldUpErasure } from '../../privacy/index.ts'
import { busyTimeoutMs, type Database, type Statement } from './database.ts'
import { freeBytesBeside, inMegabytes } from './disk-room.ts'
import type { FileGuard } from './file-guard.ts'
import { pragma } from './schema.ts'
import { isBusy, isWithoutRoom } from './store-error.ts'

/** How long it waits for those who read or write beside it, in milliseconds. */
const patienceMs = 200

/** The file that is rewritten, and what else is asked for that. */
interface TracedFile {
  /** Where it is. */
  readonly path: string
  /** Watches over it. */
  readonly guard: Pick<FileGuard, 'beforeBegin'>
  /** Bytes that are free on the disk of a file; what the system says by default. */
  readonly freeBytes?: (path: string) => number
}

/** What became of rewriting: `busy` while somebody else writes. */
export type Rewriting = 'done' | 'busy' | HeldUpErasure

/**
 * Leaves nothing in the files but what the tables hold.
 *
 * SQLite overwrites rows that are deleted (`secure_delete`), but not the copies of rows that stay in a
 * page when it moves them to another one: those only go when the whole file is written anew. That takes
 * about half a second per 100 MB, in which nobody is served, and for as long as much room again in the
 * log and in a temporary file.
 */
export class ErasureTraces {
  readonly #database: Database
  readonly #file: TracedFile
  readonly #emptyLog: Statement

  constructor(database: Database, file: TracedFile) {
    this.#database = database
    this.#file = file
    this.#emptyLog = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)')
  }

  /** Writes every table anew, if there is room for it. What was there is still in the log. */
  rewrite(): Rewriting {
    const noRoom = this.#missingRoom()
    if (noRoom !== undefined) return noRoom
    try {
      const isDone = this.#alone(() => {
        this.#database.exec('VACUUM')
        return true
      })
      return isDone ? 'done' : 'busy'
    } catch (error) {
      if (!isWithoutRoom(error)) throw error
      this.#shortenLog()
      return this.#heldUp(messageOf(error))
    }
  }

  /** Copies the log into the file and cuts it off; false while somebody else reads. */
  emptyLog(): boolean {
    return this.#alone(() => (this.#emptyLog.get() as { readonly busy: number }).busy === 0)
  }

  #alone(work: () => boolean): boolean {
    this.#database.exec(`PRAGMA busy_timeout = ${patienceMs}`)
    try {
      this.#file.guard.beforeBegin()
      return work()
    } catch (error) {
      if (isBusy(error)) return false
      throw error
    } finally {
      this.#database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
    }
  }

  /** To try would take as long as to do it, and nobody is served meanwhile. */
  #missingRoom(): HeldUpErasure | undefined {
    const { path, freeBytes = freeBytesBeside } = this.#file
    const pages = pragma(this.#database, 'page_count') - pragma(this.#database, 'freelist_count')
    const needed = pages * pragma(this.#database, 'page_size')
    const free = freeBytes(path)
    if (free >= needed) return undefined
    return this.#heldUp(`that takes ${inMegabytes(needed)} more, and ${inMegabytes(free)} are free`)
  }

  #heldUp(why: string): HeldUpErasure {
    return {
      kind: 'held_up',
      reason: `Cannot rewrite ${this.#file.path}: ${why}`,
      hint: 'Make room on its disk, and where temporary files are: what is erased can be found in the file until it is rewritten.',
    }
  }

  /** What could not be written to its end stays in the log else, as long as the file. */
  #shortenLog(): void {
    try {
      this.emptyLog()
    } catch {
      // It is begun anew by the next transactions, if not made shorter.
    }
  }
}
