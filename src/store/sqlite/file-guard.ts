import { statSync, type BigIntStats } from 'node:fs'
import { EvrouteError } from '../../model/index.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { DeliveryLock } from './delivery-lock.ts'
import type { Guard } from './write-queue.ts'

/** The parts of a store that a guard asks. */
interface Watched {
  readonly checkpoints: Checkpoints
  readonly lock: DeliveryLock
}

/** The meaning of a missing file, and what to do about it. */
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
 * not: it would continue to write to a file without a name, or beside a process that has locked the
 * new file. The store then stays unusable.
 *
 * The guard reads no file. It compares identities and sizes, which takes microseconds for stores of
 * every size. SQLite reports a damaged page when it reads it.
 */
export class FileGuard implements Guard {
  readonly #path: string
  readonly #checkpoints: Checkpoints
  readonly #lock: DeliveryLock
  #mainStats: BigIntStats
  #logStats: BigIntStats
  #failure: EvrouteError | undefined

  /** @param path - an open store, whose files exist */
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
    // Before the commit, which would restore the size of a truncated log.
    this.#lookAtLog()
  }

  afterCommit(): void {
    this.#lookAtLog()
    const stats = this.#look(this.#path, this.#mainStats)
    // VACUUM also makes a file shorter, and the database with it.
    if (stats.size < this.#mainStats.size && stats.size < this.#checkpoints.fileBytesMin()) {
      throw this.#fail(`${this.#path} was cut short while it was open`)
    }
    this.#mainStats = stats
  }

  afterAnswer(): void {
    try {
      this.#checkpoints.runWhenDue()
    } catch {
      // The next transaction fails with the same error, and reports it.
    }
  }

  #lookAtLog(): void {
    const path = `${this.#path}-wal`
    const stats = this.#look(path, this.#logStats)
    // A checkpoint can also empty the log, and SQLite knows about that.
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
