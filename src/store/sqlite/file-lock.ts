import { statSync, type BigIntStats } from 'node:fs'
import { EvrouteError, type ErrorDetails } from '../../model/index.ts'
import { openDatabase, type Database } from './database.ts'
import { isBusy } from './store-error.ts'

/**
 * Keeps other processes, and other parts of this one, from using files. The lock is a SQLite transaction on a file
 * beside them. The operating system releases the lock when the process ends, even by a crash.
 */
export class FileLock {
  /** The locked file. If it is replaced, another process can lock the new file. */
  readonly path: string
  /** The identity of the file when it was locked. */
  readonly stats: BigIntStats
  readonly #database: Database

  private constructor(path: string, stats: BigIntStats, database: Database) {
    this.path = path
    this.stats = stats
    this.#database = database
  }

  /** @throws EvrouteError with these details if the file is already locked; otherwise SQLite's own error */
  static async take(path: string, refusal: ErrorDetails): Promise<FileLock> {
    let database: Database | undefined
    try {
      const stats = await makeLockFile(path)
      database = await openDatabase(path)
      database.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
      return new FileLock(path, stats, database)
    } catch (error) {
      database?.close()
      throw isBusy(error) ? new EvrouteError({ ...refusal, cause: error }) : error
    }
  }

  release(): void {
    this.#database.close()
  }
}

/**
 * Keeps other processes from delivering from the same store.
 *
 * @param use - what this process wants to do with the store, for the error's message
 * @throws EvrouteError `store_in_use` if another process is delivering from the store or moving it
 */
export function lockStore(
  storePath: string,
  use: 'deliver from' | 'move' = 'deliver from',
): Promise<FileLock> {
  return FileLock.take(`${storePath}-lock`, {
    code: 'store_in_use',
    message: `Cannot ${use} ${storePath}: another process is delivering from it or moving it`,
    hint: 'Stop that process or wait until it has ended, or name a different store.',
  })
}

/**
 * Makes the lock file and returns its identity. Call it before locking: an identity read afterwards could be
 * that of a file that replaced the locked one. {@link FileGuard} would then not notice the change.
 */
async function makeLockFile(path: string): Promise<BigIntStats> {
  // Open it only with SQLite: closing any other descriptor would release this process's locks on it.
  const made = await openDatabase(path)
  made.close()
  return statSync(path, { bigint: true })
}
