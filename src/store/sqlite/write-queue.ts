import { setImmediate as nextTurn } from 'node:timers/promises'
import { rollBack, type Database } from './database.ts'

interface Job {
  /** Does the work within the transaction, and keeps its result. */
  readonly work: () => void
  /** Takes back what the work did outside the database. */
  readonly undo: () => void
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** What changes together with the database. */
export interface Companion {
  /** Writes what is to be part of the transaction; called before every commit. */
  save(): void
  /** The transaction is in the database. */
  commit(): void
  /** Forgets what the transaction was to write; called after every rollback. */
  discard(): void
}

/** What watches over the file. What it throws is the answer to everybody in the transaction. */
export interface Guard {
  /** Called before every transaction. */
  beforeBegin(): void
  /** Called after every commit, before anybody is answered. */
  afterCommit(): void
  /** Called once they have heard of it; throws nothing. */
  afterAnswer(): void
}

/**
 * Runs pieces of work in as few transactions as possible: what arrives while one commits goes into
 * the next together, so that one sync of the disk serves all of it. Nobody is answered before the
 * commit. When a transaction fails, each piece gets one of its own, so that only those fail that
 * cannot be done; those leave nothing behind.
 */
export class WriteQueue {
  readonly #database: Database
  readonly #companion: Companion
  readonly #guard: Guard | undefined
  #jobs: Job[] = []
  #running: Promise<void> | undefined

  constructor(database: Database, parts: { companion: Companion; guard?: Guard | undefined }) {
    this.#database = database
    this.#companion = parts.companion
    this.#guard = parts.guard
  }

  /**
   * Does the work in the next transaction and resolves, after its commit, with the result. The work
   * may be done again after `undo`, which is called whenever the work came to nothing.
   */
  run<Result>(work: () => Result, undo: () => void = () => undefined): Promise<Result> {
    return new Promise((resolve, reject) => {
      let result: Result
      this.#jobs.push({
        work: () => {
          result = work()
        },
        undo,
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
    // By then whatever arrived in this turn of the event loop has been handed in.
    await nextTurn()
    while (this.#jobs.length > 0) {
      const jobs = this.#jobs
      this.#jobs = []
      this.#doTogether(jobs)
      // Whoever was answered hears of it first.
      await nextTurn()
      this.#guard?.afterAnswer()
    }
    this.#running = undefined
  }

  #doTogether(jobs: readonly Job[]): void {
    try {
      this.#guard?.beforeBegin()
      this.#database.exec('BEGIN IMMEDIATE')
    } catch (error) {
      refuse(jobs, error)
      return
    }
    try {
      this.#commit(jobs)
    } catch (error) {
      this.#rollBack(jobs)
      if (jobs.length === 1) refuse(jobs, error)
      else for (const job of jobs) this.#doTogether([job])
      return
    }
    this.#answer(jobs)
  }

  #commit(jobs: readonly Job[]): void {
    for (const { work } of jobs) work()
    this.#companion.save()
    this.#database.exec('COMMIT')
    this.#companion.commit()
  }

  #answer(jobs: readonly Job[]): void {
    try {
      this.#guard?.afterCommit()
    } catch (error) {
      for (const { undo } of jobs) undo()
      refuse(jobs, error)
      return
    }
    for (const { resolve } of jobs) resolve()
  }

  #rollBack(jobs: readonly Job[]): void {
    this.#companion.discard()
    for (const { undo } of jobs) undo()
    rollBack(this.#database)
  }
}

function refuse(jobs: readonly Job[], error: unknown): void {
  for (const { reject } of jobs) reject(error)
}
