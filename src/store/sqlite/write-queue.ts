import { setImmediate as nextTurn } from 'node:timers/promises'
import { rollBack, type Database } from './database.ts'

interface Job {
  /** Runs the work in the transaction, and keeps its result. */
  readonly work: () => void
  /** Undoes changes that the work made outside the database. */
  readonly undo: () => void
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** After a commit, wait this many turns of the event loop, so that more work can join the next transaction. */
const turnsBetweenCommits = 4

/** Functions to call around each transaction. */
export interface TransactionHooks {
  /** Called before every transaction. If it throws, all callers in the transaction get the error. */
  beforeBegin?(): void
  /** Writes changes that are still in memory; called before every commit. */
  beforeCommit?(): void
  /** Called after every commit, before callers get results. If it throws, they all get the error. */
  afterCommit?(): void
  /** Forgets changes that are still in memory; called after every rollback. */
  afterRollback?(): void
  /** Called after callers have got their results; must not throw. */
  afterAnswer?(): void
}

/**
 * Runs pieces of work in as few transactions as possible. Work that arrives during a commit or shortly after it
 * shares the next transaction, so one disk sync serves all of it. Callers get results after the commit. If a
 * transaction fails, each piece runs again in its own transaction, so that only pieces with errors fail.
 */
export class WriteQueue {
  readonly #database: Database
  readonly #hooks: readonly (TransactionHooks | undefined)[]
  #jobs: Job[] = []
  #running: Promise<void> | undefined

  /** @param hooks - called in this order */
  constructor(database: Database, hooks: readonly (TransactionHooks | undefined)[]) {
    this.#database = database
    this.#hooks = hooks
  }

  /**
   * Runs work in the next transaction, and resolves after the commit. If the transaction fails, calls `undo`, and
   * may run the work again.
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

  /** Resolves once all earlier work has ended. */
  async idle(): Promise<void> {
    await this.#running
  }

  async #commitAll(): Promise<void> {
    // Wait, so that all work from this turn of the event loop joins the transaction.
    await nextTurn()
    while (this.#jobs.length > 0) {
      const jobs = this.#jobs
      this.#jobs = []
      this.#doTogether(jobs)
      for (let turn = 0; turn < turnsBetweenCommits; turn++) await nextTurn()
      this.#call('afterAnswer')
    }
    this.#running = undefined
  }

  #doTogether(jobs: readonly Job[]): void {
    try {
      this.#call('beforeBegin')
      this.#database.exec('BEGIN IMMEDIATE')
    } catch (error) {
      refuse(jobs, error)
      return
    }
    try {
      for (const { work } of jobs) work()
      this.#call('beforeCommit')
      this.#database.exec('COMMIT')
    } catch (error) {
      rollBack(this.#database)
      this.#call('afterRollback')
      for (const { undo } of jobs) undo()
      if (jobs.length === 1) refuse(jobs, error)
      else for (const job of jobs) this.#doTogether([job])
      return
    }
    this.#answer(jobs)
  }

  #answer(jobs: readonly Job[]): void {
    try {
      this.#call('afterCommit')
    } catch (error) {
      for (const { undo } of jobs) undo()
      refuse(jobs, error)
      return
    }
    for (const { resolve } of jobs) resolve()
  }

  #call(hook: keyof TransactionHooks): void {
    for (const hooks of this.#hooks) hooks?.[hook]?.()
  }
}

function refuse(jobs: readonly Job[], error: unknown): void {
  for (const { reject } of jobs) reject(error)
}
