import type { HeldUpErasure } from '../../privacy/index.ts'
import {
  erasableColumns,
  givenPlaces,
  placeColumns,
  type AskedNotifications,
  type CountedNotifications,
  type DeliveryPlace,
  type ErasableRow,
  type ErasureEngine,
  type HeldRow,
  type IdRange,
  type RegulationEngine,
} from '../regulations/regulation-engine.ts'
import { noteCleaned, withTraces } from '../regulations/erasure-steps.ts'
import { givenRows, rowsOf, run, scriptOf, type Script, type SqlDatabase } from '../sql.ts'
import { fromStored } from '../stored-text.ts'
import type { Adding } from './adding.ts'
import type { Counts } from './counts.ts'
import type { ErasureTraces } from './erasure-traces.ts'
import type { Leases } from './leases.ts'
import { dialect } from './sql-database.ts'

/** The maximum number of deliveries that one transaction checks and erases, in a few milliseconds. */
const lookedRowsMax = 100

const idColumn = { id: 'bigint' } as const

/** The parts of a store that an erasure needs. */
interface ErasureParts {
  readonly database: SqlDatabase
  readonly adding: Adding
  readonly counts: Counts
  readonly leases: Leases
  /** Undefined for a store in memory, which has no files. */
  readonly traces: ErasureTraces | undefined
}

/** Returns the engine that reads regulations in SQLite. */
export function regulationEngine(database: SqlDatabase): RegulationEngine {
  return { database, countNotifications }
}

/**
 * Returns the engine that erases users in SQLite. At the end it rewrites the file and truncates its log: see
 * {@link ErasureTraces}.
 */
export function erasureEngine(parts: ErasureParts): ErasureEngine {
  const { database, adding, counts, leases, traces } = parts
  const cleaner = traces && new FileCleaner(database, traces)
  return {
    ...regulationEngine(database),
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
    lookBehind,
    hasPending,
    *hold(places) {
      const rows = yield* heldRows(places)
      return rows.map((row): HeldRow => {
        const leasedIds = leases.idsOf(fromStored(row.destination_id))
        return { ...row, isLeased: row.state === 'pending' && leasedIds.has(row.id) }
      })
    },
    erasedColumns: '',
    forgetAnswers: (places) =>
      run({
        sql: `UPDATE evroute_requests SET excerpt = ''
          WHERE delivery_id IN (SELECT given.id FROM ${dialect.given('$1', idColumn)})`,
        values: [givenPlaces(places)],
      }),
    countFailed: (destinationIds) =>
      scriptOf(() => {
        for (const destinationId of destinationIds.map(fromStored)) {
          counts.addFor(destinationId, 'pending', -1)
          counts.addFor(destinationId, 'failed', 1)
        }
      }),
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
  /** Regulations whose file has been rewritten, but whose log still has the erased rows. */
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

/** Returns the next deliveries by id. One walk finds the deliveries of all users of a regulation. */
function lookBehind(
  { id }: DeliveryPlace,
  { range, rowsMax }: { readonly range: IdRange; readonly rowsMax: number },
): Script<readonly ErasableRow[]> {
  const sql = `SELECT ${erasableColumns} FROM evroute_deliveries
    WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3`
  const { afterId, lastId } = range
  const values = [Math.max(id, afterId), lastId, Math.min(rowsMax, lookedRowsMax)]
  return rowsOf<ErasableRow>({ sql, values })
}

function* hasPending({ afterId, lastId }: IdRange): Script<boolean> {
  // The plus keeps SQLite from reading all pending deliveries, which it may do if it has statistics.
  const sql = `SELECT 1 FROM evroute_deliveries WHERE id > $1 AND id <= $2 AND +state = 'pending' LIMIT 1`
  return (yield* rowsOf({ sql, values: [afterId, lastId] })).length > 0
}

function heldRows(places: readonly DeliveryPlace[]): Script<readonly ErasableRow[]> {
  const columns = erasableColumns.split(', ').map((column) => `delivery.${column}`)
  const sql = `SELECT ${columns.join(', ')} FROM ${dialect.given('$1', placeColumns)}
    CROSS JOIN evroute_deliveries delivery
    WHERE delivery.id = given.id AND delivery.destination_id = given.destination_id`
  return rowsOf<ErasableRow>({ sql, values: [givenPlaces(places)] })
}

/** Counts notifications by their ids, whose range covers all destinations of a regulation. */
function countNotifications(
  asked: readonly AskedNotifications[],
): Script<readonly CountedNotifications[]> {
  const rows = new Map(asked.map((row) => [row.number, row]))
  const given = dialect.given('$1', { number: 'bigint', after_id: 'bigint', last_id: 'bigint' })
  const sql = `
    SELECT given.number, destination_id, source_id, state, count(*) AS count
    FROM ${given} CROSS JOIN evroute_deliveries
    WHERE id > given.after_id AND id <= given.last_id
    GROUP BY given.number, destination_id, source_id, state`
  return rowsOf<CountedNotifications>({ sql, values: [givenRows([...rows.values()])] })
}
