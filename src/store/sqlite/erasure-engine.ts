import type { HeldUpErasure } from '../../privacy/index.ts'
import type { ErasureEngine } from '../regulations/regulation-engine.ts'
import { noteCleaned, withTraces } from '../regulations/erasure-steps.ts'
import { raw, run, scriptOf, sql, type SqlDatabase } from '../sql.ts'
import type { Adding } from './adding.ts'
import type { Counts } from './counts.ts'
import type { ErasureTraces } from './erasure-traces.ts'
import type { Leases } from './leases.ts'

/** The parts of a store that an erasure needs. */
interface ErasureParts {
  readonly database: SqlDatabase
  readonly adding: Adding
  readonly counts: Counts
  readonly leases: Leases
  /** Undefined for a store in memory, which has no files. */
  readonly traces: ErasureTraces | undefined
}

/**
 * Returns the engine that erases users in SQLite. At the end it rewrites the file and truncates its log: see
 * {@link ErasureTraces}.
 */
export function erasureEngine(parts: ErasureParts): ErasureEngine {
  const { database, adding, counts, leases, traces } = parts
  const cleaner = traces && new FileCleaner(database, traces)
  return {
    database,
    isReady: () => true,
    reserveIds: undefined,
    notify: (events, { nowMs }) =>
      // A notification is never a duplicate, even if its messageId was seen.
      scriptOf(() => {
        adding.add({ nowMs, seenSinceMs: Number.MAX_SAFE_INTEGER, events, handOver: [] })
      }),
    seal: () => {
      const lastId = counts.lastId()
      return scriptOf(() => ({ lastId, lastNotificationId: lastId }))
    },
    announce: () => undefined,
    // Erasing this many takes a few milliseconds.
    erasedRowsMax: 100,
    isLeased: () => leases.isLeased(),
    erasedColumns: raw(''),
    forgetAnswers: (given) =>
      run(sql`UPDATE evroute_requests SET excerpt = ''
        WHERE delivery_id IN (SELECT given.id FROM ${given})`),
    countChanges: counts.countChanges,
    leaveNoTraces: async (number) => {
      const result = cleaner === undefined ? 'done' : await cleaner.clean(number)
      if (result === 'done') await database.change(() => noteCleaned(number))
      return result
    },
  }
}

/** Rewrites the file for regulations, and truncates its log. */
class FileCleaner {
  readonly #database: SqlDatabase
  readonly #traces: ErasureTraces
  /** Regulations for which the file has been rewritten, but the log not yet truncated. */
  #rewritten: ReadonlySet<number> = new Set()

  constructor(database: SqlDatabase, traces: ErasureTraces) {
    this.#database = database
    this.#traces = traces
  }

  async clean(number: number): Promise<'done' | 'waiting' | HeldUpErasure> {
    if (!this.#rewritten.has(number)) {
      const waiting = await this.#database.read(withTraces)
      const rewriting = await this.#database.read(() => scriptOf(() => this.#traces.rewrite()))
      if (rewriting !== 'done') return rewriting === 'busy' ? 'waiting' : rewriting
      this.#rewritten = new Set(waiting)
    }
    const isEmpty = await this.#database.read(() => scriptOf(() => this.#traces.emptyLog()))
    if (!isEmpty) return 'waiting'
    this.#rewritten = new Set([...this.#rewritten].filter((other) => other !== number))
    return 'done'
  }
}
