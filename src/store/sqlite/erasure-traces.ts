import { messageOf } from '../../model/index.ts'
import type { HeldUpErasure } from '../../privacy/index.ts'
import { waitingBriefly, type Database } from './database.ts'
import { freeBytesBeside, inMegabytes } from './store-file.ts'
import type { FileGuard } from './file-guard.ts'
import { pragma } from './schema.ts'
import { isBusy, isWithoutRoom } from './store-error.ts'

interface TracedFile {
  readonly path: string
  readonly guard: Pick<FileGuard, 'beforeBegin'>
  /** Returns the free bytes on a file's disk; asks the system by default. */
  readonly freeBytes?: (path: string) => number
}

/** The result of rewriting: `waiting` while another connection uses the file. */
export type Rewriting = 'done' | 'waiting' | HeldUpErasure

/**
 * Removes deleted data from the file and its write-ahead log.
 *
 * SQLite overwrites deleted rows (`secure_delete`), but not old copies of rows that it moved to a different
 * page: only rewriting the whole file removes those. That takes about half a second per 100 MB, and blocks the
 * store. The log and a temporary file each need as much free space as the file has data.
 */
export class ErasureTraces {
  readonly #database: Database
  readonly #file: TracedFile

  constructor(database: Database, file: TracedFile) {
    this.#database = database
    this.#file = file
  }

  /** Rewrites every table if there is room. The write-ahead log still contains deleted data afterwards. */
  rewrite(): Rewriting {
    const noRoom = this.#missingRoom()
    if (noRoom !== undefined) return noRoom
    try {
      const isDone = this.#alone(() => {
        this.#database.exec('VACUUM')
        return true
      })
      return isDone ? 'done' : 'waiting'
    } catch (error) {
      if (!isWithoutRoom(error)) throw error
      try {
        // Shorten the log, because a failed rewrite has made it as long as the file.
        this.emptyLog()
      } catch {
        // If the log cannot be truncated, the next transactions overwrite it.
      }
      return this.#heldUp(messageOf(error))
    }
  }

  /** Copies the write-ahead log into the file and truncates it; returns false if another connection is reading. */
  emptyLog(): boolean {
    // The first column of the result is `busy`.
    return this.#alone(() => pragma(this.#database, 'wal_checkpoint(TRUNCATE)') === 0)
  }

  #alone(work: () => boolean): boolean {
    try {
      return waitingBriefly(this.#database, () => {
        this.#file.guard.beforeBegin()
        return work()
      })
    } catch (error) {
      if (isBusy(error)) return false
      throw error
    }
  }

  /** Checks for room first, because a failed rewrite blocks the store for as long as a successful one. */
  #missingRoom(): HeldUpErasure | undefined {
    const { path, freeBytes = freeBytesBeside } = this.#file
    const pages = pragma(this.#database, 'page_count') - pragma(this.#database, 'freelist_count')
    const needed = pages * pragma(this.#database, 'page_size')
    const free = freeBytes(path)
    if (free >= needed) return undefined
    return this.#heldUp(
      `the rewrite needs ${inMegabytes(needed)} of free space, but only ${inMegabytes(free)} are free`,
    )
  }

  #heldUp(why: string): HeldUpErasure {
    return {
      kind: 'held_up',
      reason: `Cannot rewrite ${this.#file.path}: ${why}`,
      hint: 'Free up space on its disk and on the disk of temporary files. Until the file is rewritten, erased data can still be found in it.',
    }
  }
}
