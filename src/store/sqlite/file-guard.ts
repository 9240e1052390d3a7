import { statSync, type BigIntStats } from 'node:fs'
import { EvrouteError, messageOf } from '../../model/index.ts'
import type { Checkpoints } from './checkpoints.ts'
import { busyTimeoutMs, openDatabase } from './database.ts'
import type { DeliveryLock } from './delivery-lock.ts'
import { expectTables } from './schema.ts'
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
 * Notices when somebody removes, replaces or damages the files of an open store. SQLite does not: it
 * would go on writing where nobody will ever look, or beside another process that locked the store
 * anew. Once something was noticed, the store stays unusable.
 */
export class FileGuard implements Guard {
  readonly #path: string
  readonly #checkpoints: Checkpoints
  readonly #lock: DeliveryLock
  readonly #logStats: BigIntStats
  #mainStats: BigIntStats
  #failure: EvrouteError | undefined

  /** @param path - a store that is open, so that its files are there */
  constructor(path: string, { checkpoints, lock }: Watched) {
    this.#path = path
    this.#checkpoints = checkpoints
    this.#lock = lock
    this.#mainStats = statSync(path, { bigint: true })
    this.#logStats = statSync(`${path}-wal`, { bigint: true })
  }

  /** @throws EvrouteError `store_unusable` once something was noticed */
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
    // Twice, because another process may begin the log anew between the two looks at it.
    if (this.#isLogWhole() || this.#isLogWhole()) return
    throw this.#fail(`${this.#path}-wal was cut short while it was open`)
  }

  async afterCommit(): Promise<void> {
    this.#lookAtLog()
    const stats = this.#lookAtMain()
    if (isUnchanged(stats, this.#mainStats)) return
    // Somebody else wrote it, which a tool for SQLite may do; what counts is whether it is whole.
    await this.#expectWhole()
    this.#mainStats = stats
  }

  afterAnswer(): void {
    try {
      if (this.#checkpoints.runWhenDue()) this.#mainStats = this.#lookAtMain()
    } catch {
      // Whoever comes next is told: a failure is kept, and the log is looked at before every transaction.
    }
  }

  /** Does what changes the file itself and is no transaction, so that nobody else is taken for it. */
  change<Result>(work: () => Result): Result {
    this.beforeBegin()
    try {
      return work()
    } finally {
      this.#mainStats = this.#lookAtMain()
    }
  }

  #isLogWhole(): boolean {
    return this.#checkpoints.logBytes() <= this.#lookAtLog().size
  }

  #lookAtMain(): BigIntStats {
    return this.#look(this.#path, this.#mainStats)
  }

  #lookAtLog(): BigIntStats {
    return this.#look(`${this.#path}-wal`, this.#logStats)
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

  async #expectWhole(): Promise<void> {
    const damage = await damageOf(this.#path)
    if (damage === undefined) return
    throw this.#fail(`${this.#path} was damaged while it was open: ${messageOf(damage)}`, {
      cause: damage,
    })
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

function isUnchanged(stats: BigIntStats, known: BigIntStats): boolean {
  return stats.size === known.size && stats.mtimeNs === known.mtimeNs
}

/** What a connection of its own finds wrong with a store; undefined when it finds nothing. */
async function damageOf(path: string): Promise<unknown> {
  try {
    const database = await openDatabase(path, 'read')
    try {
      database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
      expectTables(database, path)
      const row = database.prepare('PRAGMA quick_check(1)').get() as { quick_check: string }
      return row.quick_check === 'ok' ? undefined : row.quick_check
    } finally {
      database.close()
    }
  } catch (error) {
    return error
  }
}
