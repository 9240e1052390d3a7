import { statSync, type BigIntStats } from 'node:fs'
import { EvrouteError } from '../../model/index.ts'
import { openDatabase, type Database } from './database.ts'
import { isBusy } from './store-error.ts'

/**
 * Keeps every other process from delivering out of the same store. The lock is a transaction on a file
 * beside the store, which the system ends when the process dies, however it dies.
 */
export class DeliveryLock {
  /** The file that is locked. Whoever finds another one in its place can lock that as well. */
  readonly path: string
  /** What that file was when it was locked. */
  readonly stats: BigIntStats
  readonly #database: Database

  private constructor(path: string, stats: BigIntStats, database: Database) {
    this.path = path
    this.stats = stats
    this.#database = database
  }

  /** @throws EvrouteError `store_in_use` when another process delivers from the store */
  static async take(storePath: string): Promise<DeliveryLock> {
    const path = `${storePath}-lock`
    let database: Database | undefined
    try {
      const stats = await makeLockFile(path)
      database = await openDatabase(path)
      database.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE')
      return new DeliveryLock(path, stats, database)
    } catch (error) {
      database?.close()
      if (!isBusy(error)) throw error
      throw new EvrouteError({
        code: 'store_in_use',
        message: `Cannot deliver from ${storePath}: another process does so`,
        hint: 'Wait until the other process has ended, or name another store.',
        cause: error,
      })
    }
  }

  /** Lets the next process in. */
  release(): void {
    this.#database.close()
  }
}

/**
 * Looks at the file before it is locked: should it be replaced in between, what is locked is not what
 * was looked at, and the first look at it tells. Afterwards it might be another one that looks right.
 */
async function makeLockFile(path: string): Promise<BigIntStats> {
  // Nothing but SQLite may open it: closing it would end the locks that this process has on it.
  const made = await openDatabase(path)
  made.close()
  return statSync(path, { bigint: true })
}
