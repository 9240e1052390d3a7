import { EvrouteError, messageOf } from '../../model/index.ts'
import { openDatabase, type Database } from './database.ts'

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
    const database = await openDatabase(`${storePath}-lock`)
    try {
      database.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE')
    } catch (error) {
      database.close()
      throw new EvrouteError({
        code: 'store_in_use',
        message: `Cannot deliver from ${storePath}: ${lockProblem(error)}`,
        hint: 'Wait until the other process has ended, or name another store.',
        cause: error,
      })
    }
    return new DeliveryLock(database)
  }

  /** Lets the next process in. */
  release(): void {
    this.#database.close()
  }
}

function lockProblem(error: unknown): string {
  const message = messageOf(error)
  return /locked|busy/i.test(message) ? 'another process does so' : message
}
