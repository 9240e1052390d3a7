import { setImmediate as nextTurn } from 'node:timers/promises'
import type {
  DeliveryFilter,
  ListRequest,
  LoggedDelivery,
  LoggedState,
  StoreAudit,
} from '../../delivery/index.ts'
import {
  bodyStartFrom,
  listedDelivery,
  loggedColumns,
  type ListedRow,
} from '../log/logged-delivery.ts'
import { conditionsOf } from '../log/log-changes.ts'
import type { Counts } from './counts.ts'
import type { Database, SqlValue } from './database.ts'
import { bucketShift } from './tables.ts'

interface BucketPart {
  readonly bucket: number
  readonly first: number
  readonly last: number
}

/** Buckets to search by index before other work gets its turn: about 6 ms. */
const searchedAtOnce = 256
/** Buckets to read row by row before other work gets its turn: about 10 ms. */
const readAtOnce = 2

/** The maximum number of rows in an index of states that a look-up reads in one go: about 10 ms. */
const rareRowsMax = 10_000

/** An index that contains only the rows of some states. */
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

/** The ids that a look-up needs, and how many buckets it reads before other work gets its turn. */
interface BucketsRequest {
  readonly id?: number | undefined
  readonly beforeId?: number | undefined
  readonly atOnce: number
}

const listed = `SELECT ${loggedColumns}, ${bodyStartFrom('messages', 'body_id')}
  FROM deliveries delivery`

/**
 * Looks up deliveries in a file. Long look-ups read bucket by bucket, each in a transaction of its own,
 * because the write-ahead log cannot restart during a long transaction.
 */
export class LogReader {
  readonly #database: Database
  readonly #counts: Counts
  readonly #ids
  readonly #counted
  readonly #withoutBody

  constructor(database: Database, counts: Counts) {
    this.#database = database
    this.#counts = counts
    this.#ids = database.prepare(`
      SELECT (SELECT min(id) FROM deliveries) AS first, (SELECT max(id) FROM deliveries) AS last`)
    // Counting entries of an index is twenty times as fast as counting rows.
    this.#counted = database.prepare(`
      SELECT 'pending' AS state, count(*) AS deliveries
        FROM deliveries INDEXED BY deliveries_waiting WHERE state = 'pending'
      UNION ALL
      SELECT 'delivered', count(*)
        FROM deliveries INDEXED BY deliveries_delivered WHERE state = 'delivered'
      UNION ALL
      SELECT 'failed', count(*) FROM deliveries INDEXED BY deliveries_failed
        WHERE (state = 'failed' OR state = 'expired') AND state = 'failed'
      UNION ALL
      SELECT 'expired', count(*) FROM deliveries INDEXED BY deliveries_failed
        WHERE (state = 'failed' OR state = 'expired') AND state = 'expired'`)
    this.#withoutBody = database.prepare(`
      SELECT count(*) AS deliveries FROM deliveries LEFT JOIN messages ON messages.id = body_id
      WHERE deliveries.id BETWEEN ? AND ? AND messages.id IS NULL`)
  }

  /** Lists the deliveries that match a filter, greatest ids first. */
  async list({ filter, limit, beforeId }: ListRequest): Promise<readonly LoggedDelivery[]> {
    // The plus keeps SQLite from using an index on states and then sorting.
    const conditions = conditionsOf(filter, '+state')
    const sql = conditions.sql.replaceAll(/\$\d+/g, '?')
    const values = conditions.values as readonly SqlValue[]
    const rare = this.#rareStates(filter)
    if (rare !== undefined) {
      const ids = `SELECT id FROM deliveries INDEXED BY ${rare.name}
        WHERE ${rare.condition} AND id < ? ${sql} ORDER BY id DESC LIMIT ?`
      const statement = this.#database.prepare(`${listed} WHERE id IN (${ids}) ORDER BY id DESC`)
      const rows = statement.all(beforeId ?? Number.MAX_SAFE_INTEGER, ...values, limit)
      return (rows as ListedRow[]).map(listedDelivery)
    }
    const index = indexFor(filter)
    const [source, inBucket] =
      index === undefined ? ['', ''] : [`INDEXED BY ${index}`, `id >> ${bucketShift} = ? AND`]
    const statement = this.#database.prepare(`${listed} ${source}
      WHERE ${inBucket} id BETWEEN ? AND ? ${sql} ORDER BY id DESC LIMIT ?`)
    const atOnce = index === undefined ? readAtOnce : searchedAtOnce
    const rows: ListedRow[] = []
    const buckets = this.#buckets({ id: filter.id, beforeId, atOnce })
    for await (const { bucket, first, last } of buckets) {
      const range = index === undefined ? [first, last] : [bucket, first, last]
      rows.push(...(statement.all(...range, ...values, limit - rows.length) as ListedRow[]))
      if (rows.length >= limit) break
    }
    return rows.map(listedDelivery)
  }

  /** Returns the index of the wanted states if it has few rows: a walk through all deliveries would find few. */
  #rareStates(filter: DeliveryFilter): IndexOfStates | undefined {
    if (filter.id !== undefined || indexFor(filter) !== undefined) return undefined
    const found = indexesOfStates.find(({ states }) =>
      filter.states?.every((state) => states.includes(state)),
    )
    if (found === undefined) return undefined
    const { name, condition } = found
    const some = `SELECT 1 FROM deliveries INDEXED BY ${name} WHERE ${condition} LIMIT ?`
    const counted = this.#database.prepare(`SELECT count(*) AS rows FROM (${some})`)
    const { rows } = counted.get(rareRowsMax + 1) as { readonly rows: number }
    return rows > rareRowsMax ? undefined : found
  }

  /**
   * Reads the ledger and counts the rows, both at the same moment. Deliveries without a body are counted
   * right afterwards.
   */
  async audit(): Promise<StoreAudit> {
    const figures = this.#figures()
    let withoutBody = 0
    for await (const { first, last } of this.#buckets({ atOnce: readAtOnce })) {
      withoutBody += (this.#withoutBody.get(first, last) as { deliveries: number }).deliveries
    }
    return { ...figures, withoutBody }
  }

  #figures(): Omit<StoreAudit, 'withoutBody'> {
    this.#database.exec('BEGIN')
    try {
      const counted = { pending: 0, delivered: 0, failed: 0, expired: 0 }
      const rows = this.#counted.all() as { state: LoggedState; deliveries: number }[]
      for (const { state, deliveries } of rows) counted[state] = deliveries
      return { ledger: this.#counts.ledger(), counted, purged: this.#counts.purged() }
    } finally {
      this.#database.exec('COMMIT')
    }
  }

  /** Yields the ranges of existing ids, bucket by bucket, last bucket first. */
  async *#buckets(request: BucketsRequest): AsyncGenerator<BucketPart> {
    const { id, beforeId = Infinity, atOnce } = request
    const ids = this.#ids.get() as Readonly<Record<'first' | 'last', number | null>>
    const first = Math.max(ids.first ?? 1, id ?? 1)
    let last = Math.min(ids.last ?? 0, id ?? Infinity, beforeId - 1)
    for (let count = 1; first <= last; count++) {
      const bucket = Math.floor(last / 2 ** bucketShift)
      const begin = bucket * 2 ** bucketShift
      yield { bucket, first: Math.max(first, begin), last }
      last = begin - 1
      if (count % atOnce === 0) await nextTurn()
    }
  }
}

/**
 * Returns the index that finds the rows of a filter in a bucket; undefined for filters by id, or without
 * messageId and user.
 */
function indexFor({ id, messageId, userId }: DeliveryFilter): string | undefined {
  if (id !== undefined) return undefined
  if (messageId !== undefined) return 'deliveries_by_message'
  return userId === undefined ? undefined : 'deliveries_by_user'
}
