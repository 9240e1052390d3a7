import { messageOf } from '../../model/index.ts'
import type { HeldUpErasure } from '../../privacy/index.ts'
import { busyTimeoutMs, type Database, type Statement } from './database.ts'
import { freeBytesBeside, inMegabytes } from './store-file.ts'
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

/** The result of rewriting: `busy` while another connection writes. */
export type Rewriting = 'done' | 'busy' | HeldUpErasure

/**
 * Removes everything from the files that is not in the tables.
 *
 * SQLite overwrites deleted rows (`secure_delete`). It does not overwrite the old copies of rows that
 * it moves to another page: only rewriting the whole file removes those. That takes about half a
 * second per 100 MB, during which the store answers nothing, and as much free space again in the log
 * and in a temporary file.
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

  /** Rewrites every table if there is room for it. The log still has the old contents. */
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

  /** Copies the log into the file and truncates it; false while another connection reads. */
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

  /**
   * Checked first, because a failed attempt takes as long as a successful one, and the store answers
   * nothing meanwhile.
   */
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

  /** Without this a failed attempt would stay in the log, which would be as long as the file. */
  #shortenLog(): void {
    try {
      this.emptyLog()
    } catch {
      // If the log cannot be truncated, the next transactions overwrite it.
    }
  }
}
