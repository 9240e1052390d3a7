import { statSync, type BigIntStats } from 'node:fs'
import { EvrouteError } from '../../model/index.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { DeliveryLock } from './delivery-lock.ts'
import type { Guard } from './write-queue.ts'

/** What a guard asks about a store. */
interface Watched {
  readonly checkpoints: Checkpoints
  readonly lock: DeliveryLock
}

/** What it means that a file is gone, and what to do about it. */
interface Loss {
  readonly effect: string
  readonly hint: string
}

const contentLoss: Loss = {
  effect: '',
  hint: 'End this process, put the file back or name another one, and start again.',
}

/**
 * Notices when another program removes, replaces or truncates the files of an open store. SQLite does
 * not: it would go on writing to a file without a name, or beside a process that locked the store anew.
 * After that the store stays unusable.
 *
 * The guard reads no file. It compares identities and sizes, which takes microseconds however large the
 * store is; SQLite reports a damaged page when it reads it.
 */
export class FileGuard implements Guard {
  readonly #path: string
  readonly #checkpoints: Checkpoints
  readonly #lock: DeliveryLock
  #mainStats: BigIntStats
  #logStats: BigIntStats
  #failure: EvrouteError | undefined

  /** @param path - a store that is open, so that its files are there */
  constructor(path: string, { checkpoints, lock }: Watched) {
    this.#path = path
    this.#checkpoints = checkpoints
    this.#lock = lock
    this.#mainStats = statSync(path, { bigint: true })
    this.#logStats = statSync(`${path}-wal`, { bigint: true })
  }

  /** @throws EvrouteError `store_unusable` once the guard has noticed something */
  expectUnharmed(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  /** @throws EvrouteError `store_unusable` once another process may deliver as well */
  expectAlone(): void {
    this.expectUnharmed()
    const { path, stats } = this.#lock
    this.#look(path, stats, {
      effect: `, so that another process may deliver from ${this.#path} as well`,
      hint: 'End this process; start it again once no other one delivers from the store, and leave the file alone.',
    })
  }

  beforeBegin(): void {
    this.expectAlone()
    // A commit would make a log that was cut short as long as it was before.
    this.#lookAtLog()
  }

  afterCommit(): void {
    this.#lookAtLog()
    const stats = this.#look(this.#path, this.#mainStats)
    // VACUUM makes a file shorter too, and the database with it.
    if (stats.size < this.#mainStats.size && stats.size < this.#checkpoints.fileBytesMin()) {
      throw this.#fail(`${this.#path} was cut short while it was open`)
    }
    this.#mainStats = stats
  }

  afterAnswer(): void {
    try {
      this.#checkpoints.runWhenDue()
    } catch {
      // The next transaction meets the same error, and reports it.
    }
  }

  #lookAtLog(): void {
    const path = `${this.#path}-wal`
    const stats = this.#look(path, this.#logStats)
    // A checkpoint can empty the log too, and SQLite knows about it.
    if (stats.size < this.#logStats.size && stats.size < this.#checkpoints.logBytes()) {
      throw this.#fail(`${path} was cut short while it was open`)
    }
    this.#logStats = stats
  }

  #look(path: string, known: BigIntStats, loss: Loss = contentLoss): BigIntStats {
    const { effect, hint } = loss
    try {
      const stats = statSync(path, { bigint: true })
      if (stats.ino === known.ino && stats.dev === known.dev) return stats
    } catch (cause) {
      throw this.#fail(`${path} was removed while it was open${effect}`, { hint, cause })
    }
    throw this.#fail(`${path} was replaced while it was open${effect}`, { hint })
  }

  #fail(what: string, details: { hint?: string; cause?: unknown } = {}): EvrouteError {
    const { hint = contentLoss.hint, cause } = details
    this.#failure ??= new EvrouteError({
      code: 'store_unusable',
      message: `Cannot use the store: ${what}`,
      hint,
      cause,
    })
    return this.#failure
  }
}
