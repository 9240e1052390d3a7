import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Database } from './database.ts'

interface Job {
  /** Does the work within the transaction, and keeps its result. */
  readonly work: () => void
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** What changes together with the database. */
export interface Companion {
  /** Writes what is to be part of the transaction; called before every commit. */
  save(): void
  /** Forgets what the transaction was to write; called after every rollback. */
  discard(): void
}

/**
 * Runs pieces of work in as few transactions as possible: what arrives while one commits goes into
 * the next together, so that one sync of the disk serves all of it. Nobody is answered before the
 * commit; a transaction that fails fails for everybody in it, and leaves nothing behind.
 */
export class WriteQueue {
  readonly #database: Database
  readonly #companion: Companion
  #jobs: Job[] = []
  #running: Promise<void> | undefined

  constructor(database: Database, companion: Companion) {
    this.#database = database
    this.#companion = companion
  }

  /** Does the work in the next transaction and resolves, after its commit, with the result. */
  run<Result>(work: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      let result: Result
      this.#jobs.push({
        work: () => {
          result = work()
        },
        resolve: () => resolve(result),
        reject,
      })
      this.#running ??= this.#commitAll()
    })
  }

  /** Resolves once everything that was handed in is committed. */
  async idle(): Promise<void> {
    await this.#running
  }

  async #commitAll(): Promise<void> {
    while (this.#jobs.length > 0) {
      // By then whatever arrived in this turn of the event loop has been handed in.
      await nextTurn()
      const jobs = this.#jobs
      this.#jobs = []
      this.#commit(jobs)
    }
    this.#running = undefined
  }

  #commit(jobs: readonly Job[]): void {
    try {
      this.#database.exec('BEGIN IMMEDIATE')
      for (const { work } of jobs) work()
      this.#companion.save()
      this.#database.exec('COMMIT')
    } catch (error) {
      this.#rollBack()
      for (const { reject } of jobs) reject(error)
      return
    }
    for (const { resolve } of jobs) resolve()
  }

  #rollBack(): void {
    this.#companion.discard()
    try {
      this.#database.exec('ROLLBACK')
    } catch {
      // SQLite has rolled back by itself, as it does when the disk is full.
    }
  }
}
