import type { ErasureEngine } from '../regulations/regulation-engine.ts'
import { noteCleaned, withTraces } from '../regulations/erasure-steps.ts'
import { raw, run, scriptOf, sql, type SqlDatabase } from '../sql.ts'
import { addEvents } from './adding.ts'
import type { ErasureTraces, Rewriting } from './erasure-traces.ts'
import type { StoreParts } from './store-parts.ts'

interface ErasureParts extends StoreParts {
  readonly database: SqlDatabase
  /** Undefined for a store in memory, which has no files. */
  readonly traces: ErasureTraces | undefined
}

/**
 * Returns the engine that erases users in SQLite. At the end it rewrites the file and truncates its log: see
 * {@link ErasureTraces}.
 */
export function erasureEngine(parts: ErasureParts): ErasureEngine {
  const { database, counts, leases, traces } = parts
  const clean = traces && cleanerOf(database, traces)
  return {
    database,
    isReady: () => true,
    notify: (events, nowMs) =>
      scriptOf(() => {
        // A notification is never a duplicate, even if its messageId was seen.
        const seenSinceMs = Number.MAX_SAFE_INTEGER
        addEvents({ nowMs, seenSinceMs, events, handOver: [] }, parts)
        return counts.lastId()
      }),
    seal: () => scriptOf(() => counts.lastId()),
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
      const result = clean === undefined ? 'done' : await clean(number)
      if (result === 'done') await database.change(() => noteCleaned(number))
      return result
    },
  }
}

/** Returns a function that rewrites the file for a regulation, and truncates its log. */
function cleanerOf(database: SqlDatabase, traces: ErasureTraces) {
  /** Regulations for which the file has been rewritten, but the log not yet truncated. */
  const rewritten = new Set<number>()
  return async (number: number): Promise<Rewriting> => {
    if (!rewritten.has(number)) {
      const waiting = await database.read(withTraces)
      const rewriting = await database.read(() => scriptOf(() => traces.rewrite()))
      if (rewriting !== 'done') return rewriting
      for (const each of waiting) rewritten.add(each)
    }
    const isEmpty = await database.read(() => scriptOf(() => traces.emptyLog()))
    if (!isEmpty) return 'waiting'
    rewritten.delete(number)
    return 'done'
  }
}
