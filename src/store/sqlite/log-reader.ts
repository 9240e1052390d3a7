import { setImmediate as nextTurn } from 'node:timers/promises'
import type {
  DeliveryFilter,
  ListRequest,
  LoggedDelivery,
  LoggedState,
  StoreAudit,
} from '../../delivery/index.ts'
import { listedColumns, loggedDelivery, type LoggedRow } from '../log/logged-delivery.ts'
import { conditionsOf } from '../log/log-changes.ts'
import { raw, sql } from '../sql.ts'
import type { SqlValue } from './database.ts'
import { dialect } from './dialect.ts'
import type { Statements } from './statements.ts'
import type { LogParts } from './store-parts.ts'
import { bucketShift } from './tables.ts'

/** Let other work run after searching this many buckets by index, which takes about 6 ms. */
const searchedAtOnce = 256
/** Let other work run after reading this many buckets row by row, which takes about 10 ms. */
const readAtOnce = 2

/** Read a whole {@link IndexOfStates} if it has at most this many rows, which takes about 10 ms. */
const rareRowsMax = 10_000

/** A partial index that contains only the deliveries in `states`. */
interface IndexOfStates {
  readonly name: string
  readonly states: readonly LoggedState[]
  readonly condition: string
}

const indexesOfStates: readonly IndexOfStates[] = [
  { name: 'deliveries_waiting', states: ['pending'], condition: "state = 'pending'" },
  {
    name: 'deliveries_ended',
    states: ['failed', 'expired'],
    condition: "(state = 'failed' OR state = 'expired')",
  },
]

/** The ids to look up, and after how many buckets to let other work run. */
interface BucketsRequest {
  readonly id?: number | undefined
  readonly beforeId?: number | undefined
  readonly atOnce: number
}

const listed = `SELECT ${listedColumns} FROM deliveries delivery`

/** Lists the deliveries that match a filter, highest ids first. */
export async function listDeliveries(
  { filter, limit, beforeId }: ListRequest,
  statements: Statements,
): Promise<readonly LoggedDelivery[]> {
  // The plus keeps SQLite from using an index on states and then sorting.
  const conditions = conditionsOf(filter, dialect, '+state')
  const filtered = conditions.sql.replaceAll(/\$\d+/g, '?')
  const values = conditions.values as readonly SqlValue[]
  const rare = rareStates(filter, statements)
  if (rare !== undefined) {
    const ids = `SELECT id FROM deliveries INDEXED BY ${rare.name}
      WHERE ${rare.condition} AND id < ? ${filtered} ORDER BY id DESC LIMIT ?`
    const statement = statements.prepare(`${listed} WHERE id IN (${ids}) ORDER BY id DESC`)
    const rows = statement.all(beforeId ?? Number.MAX_SAFE_INTEGER, ...values, limit)
    return (rows as LoggedRow[]).map(loggedDelivery)
  }
  const index = indexFor(filter)
  const [source, inBucket] =
    index === undefined ? ['', ''] : [`INDEXED BY ${index}`, `id >> ${bucketShift} = ? AND`]
  const statement = statements.prepare(`${listed} ${source}
    WHERE ${inBucket} id BETWEEN ? AND ? ${filtered} ORDER BY id DESC LIMIT ?`)
  const atOnce = index === undefined ? readAtOnce : searchedAtOnce
  const rows: LoggedRow[] = []
  const buckets = bucketsOf({ id: filter.id, beforeId, atOnce }, statements)
  for await (const { bucket, first, last } of buckets) {
    const range = index === undefined ? [first, last] : [bucket, first, last]
    rows.push(...(statement.all(...range, ...values, limit - rows.length) as LoggedRow[]))
    if (rows.length >= limit) break
  }
  return rows.map(loggedDelivery)
}

/** Returns the index of the wanted states if it is small enough to read whole. */
function rareStates(filter: DeliveryFilter, statements: Statements): IndexOfStates | undefined {
  if (filter.id !== undefined || indexFor(filter) !== undefined) return undefined
  const found = indexesOfStates.find(({ states }) =>
    filter.states?.every((state) => states.includes(state)),
  )
  if (found === undefined) return undefined
  const { name, condition } = found
  const some = `SELECT 1 FROM deliveries INDEXED BY ${name} WHERE ${condition} LIMIT ?`
  const counted = statements.prepare(`SELECT count(*) AS rows FROM (${some})`)
  const { rows } = counted.get(rareRowsMax + 1) as { readonly rows: number }
  return rows > rareRowsMax ? undefined : found
}

/** Reads the ledger and counts the rows in one snapshot; counts deliveries without a body right afterwards. */
export async function audit(parts: LogParts): Promise<StoreAudit> {
  const figures = figuresOf(parts)
  let withoutBody = 0
  for await (const { first, last } of bucketsOf({ atOnce: readAtOnce }, parts.statements)) {
    const row = parts.statements.get(sql`
      SELECT count(*) AS deliveries FROM deliveries LEFT JOIN messages ON messages.id = body_id
      WHERE deliveries.id BETWEEN ${first} AND ${last} AND messages.id IS NULL`)
    withoutBody += (row as { readonly deliveries: number }).deliveries
  }
  return { ...figures, withoutBody }
}

function figuresOf({ statements, counts }: LogParts): Omit<StoreAudit, 'withoutBody'> {
  statements.run(sql`BEGIN`)
  try {
    // Counting entries of an index is twenty times as fast as counting rows.
    const count = (state: LoggedState, index: string, condition = 'true'): number => {
      const row = statements.get(
        raw(`SELECT count(*) AS deliveries FROM deliveries INDEXED BY ${index}
          WHERE ${condition} AND state = '${state}'`),
      )
      return (row as { readonly deliveries: number }).deliveries
    }
    const isEnded = "(state = 'failed' OR state = 'expired')"
    const counted = {
      pending: count('pending', 'deliveries_waiting'),
      delivered: count('delivered', 'deliveries_delivered'),
      failed: count('failed', 'deliveries_failed', isEnded),
      expired: count('expired', 'deliveries_failed', isEnded),
    }
    return { ledger: counts.ledger(), counted, purged: counts.purged() }
  } finally {
    statements.run(sql`COMMIT`)
  }
}

/**
 * Yields the ranges of existing ids, one per bucket, last bucket first. Each bucket can be read in a transaction
 * of its own, because a long transaction would keep the write-ahead log growing.
 */
async function* bucketsOf(
  { id, beforeId = Infinity, atOnce }: BucketsRequest,
  statements: Statements,
): AsyncGenerator<Readonly<Record<'bucket' | 'first' | 'last', number>>> {
  const ids = statements.get(sql`
    SELECT coalesce((SELECT min(id) FROM deliveries), 1) AS first,
      coalesce((SELECT max(id) FROM deliveries), 0) AS last`) as Record<'first' | 'last', number>
  const first = Math.max(ids.first, id ?? 1)
  let last = Math.min(ids.last, id ?? Infinity, beforeId - 1)
  for (let count = 1; first <= last; count++) {
    const bucket = Math.floor(last / 2 ** bucketShift)
    const begin = bucket * 2 ** bucketShift
    yield { bucket, first: Math.max(first, begin), last }
    last = begin - 1
    if (count % atOnce === 0) await nextTurn()
  }
}

/** Returns the index for a filter's messageId or user. A filter by id needs no index. */
function indexFor({ id, messageId, userId }: DeliveryFilter): string | undefined {
  if (id !== undefined) return undefined
  if (messageId !== undefined) return 'deliveries_by_message'
  return userId === undefined ? undefined : 'deliveries_by_user'
}
