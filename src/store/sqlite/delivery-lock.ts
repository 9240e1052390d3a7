import { EvrouteError } from '../../model/index.ts'
import { openDatabase, type Database } from './database.ts'
import { isBusy } from './store-error.ts'

/**
 * Keeps every other process from delivering out of the same store. The lock is a transaction on a file
 * beside the store, which the system ends when the process dies, however it dies.
 */
export class DeliveryLock {
  readonly #database: Database

  private constructor(database: Database) {
    this.#database = database
  }

  /** @throws EvrouteError `store_in_use` when another process delivers from the store */
  static async take(storePath: string): Promise<DeliveryLock> {
    let database: Database | undefined
    try {
      database = await openDatabase(`${storePath}-lock`)
      database.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE')
      return new DeliveryLock(database)
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
