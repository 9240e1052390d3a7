import { statSync, type BigIntStats } from 'node:fs'
import { EvrouteError } from '../../model/index.ts'
import type { TransactionHooks } from './write-queue.ts'

interface KnownFile {
  readonly path: string
  readonly stats: BigIntStats
}

/**
 * Makes an open store unusable once another program removes or replaces its files. SQLite would not notice: it
 * would go on writing to a deleted file, or alongside a process that has locked the new file. Comparing the
 * files' identities takes microseconds.
 */
export class FileGuard implements TransactionHooks {
  readonly #path: string
  readonly #lock: KnownFile
  readonly #files: readonly KnownFile[]
  #failure: EvrouteError | undefined

  /** @param path - the file of an open store */
  constructor(path: string, lock: KnownFile) {
    this.#path = path
    this.#lock = lock
    this.#files = [path, `${path}-wal`].map((name) => {
      return { path: name, stats: statSync(name, { bigint: true }) }
    })
  }

  /** @throws EvrouteError `store_unusable` once a file has been removed or replaced */
  expectUnharmed(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  /** @throws EvrouteError `store_unusable` once another process may also be delivering */
  beforeBegin(): void {
    this.expectUnharmed()
    this.#expectSame(
      this.#lock,
      'Stop this process. Start it again once no other process is delivering from the store, and leave the lock file alone.',
      `, so another process may be delivering from ${this.#path} as well`,
    )
  }

  afterCommit(): void {
    const hint = 'Stop this process, put the file back or name a different one, and start again.'
    for (const file of this.#files) this.#expectSame(file, hint)
  }

  #expectSame({ path, stats }: KnownFile, hint: string, effect = ''): void {
    let change = 'replaced'
    let cause: unknown
    try {
      const now = statSync(path, { bigint: true })
      if (now.ino === stats.ino && now.dev === stats.dev) return
    } catch (error) {
      change = 'removed'
      cause = error
    }
    this.#failure ??= new EvrouteError({
      code: 'store_unusable',
      message: `Cannot use the store: ${path} was ${change} while it was open${effect}`,
      hint,
      cause,
    })
    throw this.#failure
  }
}
