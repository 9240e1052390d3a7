import type { LogEngine } from '../log/log-changes.ts'
import type { ErasureEngine } from '../regulations/regulation-engine.ts'
import { noteCleaned, withTraces } from '../regulations/erasure-steps.ts'
import { raw, run, scriptOf, sql, type SqlDatabase } from '../sql.ts'
import { addEvents } from './adding.ts'
import type { ErasureTraces, Rewriting } from './erasure-traces.ts'
import type { StoreParts } from './store-parts.ts'

interface ErasureParts extends StoreParts {
  readonly database: SqlDatabase
  readonly engine: LogEngine
  /** Undefined in a store in memory, which has no files. */
  readonly traces: ErasureTraces | undefined
}

/**
 * Returns the parts of regulations that are specific to SQLite. `cleanFiles` rewrites the store's file and
 * truncates the write-ahead log: see {@link ErasureTraces}.
 */
export function erasureEngine(parts: ErasureParts): ErasureEngine {
  const { database, engine, counts, traces } = parts
  return {
    ...engine,
    database,
    isReady: () => true,
    notify: (events, nowMs) =>
      scriptOf(() => {
        // Accept every notification, even if its messageId was seen before.
        const seenSinceMs = Number.MAX_SAFE_INTEGER
        addEvents({ nowMs, seenSinceMs, events, handOver: [] }, parts)
        return counts.lastId()
      }),
    seal: () => scriptOf(() => counts.lastId()),
    announce: () => undefined,
    // Erasing this many takes a few milliseconds.
    erasedRowsMax: 100,
    erasedColumns: raw(''),
    forgetAnswers: (given) =>
      run(sql`UPDATE evroute_requests SET excerpt = ''
        WHERE delivery_id IN (SELECT given.id FROM ${given})`),
    cleanFiles: cleanerOf(database, traces),
  }
}

function cleanerOf(database: SqlDatabase, traces: ErasureTraces | undefined) {
  /** The regulations for which the file was rewritten, but the write-ahead log is not yet truncated. */
  let rewritten: readonly number[] | undefined
  return async (): Promise<Rewriting> => {
    if (rewritten === undefined) {
      const waiting = await database.read(withTraces)
      const rewriting = await database.read(() => scriptOf(() => traces?.rewrite() ?? 'done'))
      if (rewriting !== 'done') return rewriting
      rewritten = waiting
    }
    const numbers = rewritten
    const isEmpty = await database.read(() => scriptOf(() => traces?.emptyLog() ?? true))
    if (!isEmpty) return 'waiting'
    await database.change(() => noteCleaned(numbers, database.dialect))
    rewritten = undefined
    return 'done'
  }
}
