import type {
  DiscardRequest,
  EndedCounts,
  LoggedState,
  PurgeRequest,
  PurgeResult,
  RetryRequest,
} from '../../delivery/index.ts'
import { discardedReason, type GivenUpDeliveries, type GivenUpReason } from '../../model/index.ts'
import { erasedReason } from '../erased-reason.ts'
import type { Counts } from './counts.ts'
import type { Database, Statement } from './database.ts'
import { conditionsOf } from './delivery-rows.ts'
import type { Leases } from './leases.ts'
import type { Ending } from './settling.ts'
import { fromStored } from '../stored-text.ts'

interface EndedRow {
  readonly id: number
  readonly destination_id: string
  readonly body_id: number
  readonly state: keyof EndedCounts
}

interface WaitingRow {
  readonly id: number
  readonly destination_id: string
}

interface RetriedRow extends WaitingRow {
  readonly state: LoggedState
}

/** The reason why deliveries are given up, and the time. */
interface GivingUpEnd {
  readonly reason: GivenUpReason
  readonly nowMs: number
}

/** A range of an index that a retry by hand reads, up to a moment. It has no delivered rows. */
interface RetriedRange {
  readonly index: string
  readonly range: string
}

const isSettled = 'settled_at <= ?'
const waits = "lane = 'retry' AND state = 'pending' AND coalesce(first_attempt_at, 0) <= ?"

const isKept = `reason IS NOT '${erasedReason}'`

const retriedOfOne: readonly RetriedRange[] = [
  { index: 'deliveries_failed', range: `state = 'failed' AND ${isSettled} AND ${isKept}` },
  { index: 'deliveries_failed', range: `state = 'expired' AND ${isSettled} AND ${isKept}` },
  { index: 'deliveries_waiting', range: waits },
]

const retriedOfAll: readonly RetriedRange[] = [
  {
    index: 'deliveries_ended',
    range: `(state = 'failed' OR state = 'expired') AND ${isSettled} AND ${isKept}`,
  },
  { index: 'deliveries_expiring', range: `expires_at IS NOT NULL AND ${waits}` },
]

/** Retries and discards deliveries by hand, and purges. The caller begins and ends transactions. */
export class LogWriter {
  readonly #database: Database
  readonly #counts: Counts
  readonly #leases: Leases | undefined
  readonly #retryOne
  readonly #deliveredBefore
  readonly #failedBefore
  readonly #untriedBefore
  readonly #expiredBefore
  readonly #giveUp
  readonly #discardOne
  readonly #forgetRequests
  readonly #takePending
  readonly #forgetDeliveries
  readonly #forgetBodies
  readonly #useBodiesLess
  readonly #forgetSeen

  /** Without leases it does not know what another process has leased, and gives up no delivery. */
  constructor(database: Database, parts: { readonly counts: Counts; readonly leases?: Leases }) {
    this.#database = database
    this.#counts = parts.counts
    this.#leases = parts.leases
    this.#retryOne = database.prepare(`
      UPDATE deliveries SET state = 'pending', lane = 'manual', due_at = ?, window_attempts = 0,
        first_attempt_at = NULL, expires_at = NULL, holds = '[]', reason = NULL, settled_at = NULL,
        manual_retries = manual_retries + 1
      WHERE id = ?`)
    const ended = 'SELECT id, destination_id, body_id, state FROM deliveries'
    this.#deliveredBefore = database.prepare(
      `${ended} WHERE state = 'delivered' AND settled_at < ? ORDER BY settled_at LIMIT ?`,
    )
    this.#failedBefore = database.prepare(`
      ${ended} WHERE (state = 'failed' OR state = 'expired') AND settled_at < ?
      ORDER BY settled_at LIMIT ?`)
    const waiting = "SELECT id, destination_id FROM deliveries WHERE state = 'pending'"
    this.#untriedBefore = database.prepare(`
      SELECT id, deliveries.destination_id FROM counts
      CROSS JOIN (SELECT 'first' AS lane UNION ALL SELECT 'manual') AS untried
      CROSS JOIN deliveries INDEXED BY deliveries_waiting
        ON deliveries.destination_id = counts.destination_id AND deliveries.lane = untried.lane
      WHERE name = 'pending' AND count > 0 AND state = 'pending' AND due_at < ? LIMIT ?`)
    this.#expiredBefore = database.prepare(
      `${waiting} AND expires_at < ? ORDER BY expires_at LIMIT ?`,
    )
    this.#giveUp = database.prepare(`
      UPDATE deliveries SET state = 'expired', reason = ?, settled_at = ? WHERE id = ?`)
    this.#discardOne = database.prepare(`
      UPDATE deliveries SET state = 'failed', reason = '${discardedReason}', settled_at = ?
      WHERE id = ?`)
    const asked = '(SELECT value FROM json_each(?))'
    this.#forgetRequests = database.prepare(`DELETE FROM requests WHERE delivery_id IN ${asked}`)
    this.#takePending = database.prepare(`
      DELETE FROM deliveries WHERE id IN ${asked} AND state = 'pending' RETURNING body_id`)
    this.#forgetDeliveries = database.prepare(`DELETE FROM deliveries WHERE id IN ${asked}`)
    const gone = 'SELECT value AS id, count(*) AS uses FROM json_each(?) GROUP BY value'
    this.#forgetBodies = database.prepare(`
      DELETE FROM messages WHERE id IN (
        SELECT messages.id FROM (${gone}) AS gone CROSS JOIN messages ON messages.id = gone.id
        WHERE deliveries <= uses)`)
    this.#useBodiesLess = database.prepare(`
      UPDATE messages SET deliveries = deliveries - uses FROM (${gone}) AS gone
      WHERE messages.id = gone.id`)
    this.#forgetSeen = database.prepare(`
      DELETE FROM seen WHERE (source_id, message_id) IN (
        SELECT source_id, message_id FROM seen WHERE seen_at < ? ORDER BY seen_at LIMIT ?)`)
  }

  /** Makes deliveries due at once and returns their number. */
  retry(request: RetryRequest): number {
    const rows = this.#toRetry(request)
    for (const { id, destination_id: destinationId, state } of rows) {
      this.#retryOne.run(request.nowMs, id)
      this.#counts.addFor(fromStored(destinationId), 'pending', 1)
      this.#counts.addFor(fromStored(destinationId), state, -1)
    }
    return rows.length
  }

  /** Ends pending deliveries without sending them and returns their number. */
  discard({ nowMs, filter, limit }: DiscardRequest): number {
    const { sql, values } = conditionsOf(filter)
    // This index has only pending deliveries. For an id the primary key is faster.
    const source =
      filter.id === undefined ? 'deliveries INDEXED BY deliveries_waiting' : 'deliveries'
    const statement = this.#database.prepare(`
      SELECT id, destination_id FROM ${source}
      WHERE state = 'pending' AND accepted_at <= ? ${sql} LIMIT ?`)
    const found = statement.all(nowMs, ...values, limit + this.#leased) as WaitingRow[]
    const rows = this.#free(found, limit)
    for (const { id, destination_id: destinationId } of rows) {
      this.#discardOne.run(nowMs, id)
      this.#counts.addFor(fromStored(destinationId), 'failed', 1)
      this.#counts.addFor(fromStored(destinationId), 'pending', -1)
    }
    return rows.length
  }

  /** Deletes old rows, of each kind at most the given number. */
  purge(request: PurgeRequest): PurgeResult {
    const { deliveredBeforeMs, failedBeforeMs, messageIdsBeforeMs, rowsMax } = request
    const ended =
      this.#forgetOld(this.#deliveredBefore, deliveredBeforeMs, rowsMax) +
      this.#forgetOld(this.#failedBefore, failedBeforeMs, rowsMax)
    const overdue = this.#expireOld(request)
    const left = rowsMax - countOf(overdue)
    const abandoned = left > 0 ? this.#abandonOld({ ...request, rowsMax: left }) : []
    const seen = Number(this.#forgetSeen.run(messageIdsBeforeMs, rowsMax).changes)
    const expired = [...overdue, ...abandoned]
    return { rows: ended + countOf(expired) + seen, expired }
  }

  /** Deletes pending deliveries that end, if no requests are logged. Returns their number. */
  forgetPending(endings: readonly Ending[]): number {
    const ids = endings.map(({ delivery }) => delivery.id)
    const rows = this.#takePending.all(JSON.stringify(ids)) as Pick<EndedRow, 'body_id'>[]
    this.#forgetBodiesOf(rows)
    for (const { delivery, kind } of endings) {
      this.#counts.addFor(delivery.destinationId, `purged_${kind}`, 1)
    }
    return rows.length
  }

  /** Deletes deliveries that have ended: delivered ones first, and the oldest first. */
  forgetEnded(count: number): void {
    const delivered = this.#forgetOld(this.#deliveredBefore, Number.MAX_SAFE_INTEGER, count)
    if (delivered === count) return
    this.#forgetOld(this.#failedBefore, Number.MAX_SAFE_INTEGER, count - delivered)
  }

  #toRetry({ nowMs, filter, limit }: RetryRequest): readonly RetriedRow[] {
    const { sql, values } = conditionsOf(filter)
    const rows: RetriedRow[] = []
    for (const { index, range } of filter.destinationId === undefined
      ? retriedOfAll
      : retriedOfOne) {
      // For an id the primary key is the fastest.
      const source = filter.id === undefined ? `deliveries INDEXED BY ${index}` : 'deliveries'
      const statement = this.#database.prepare(`
        SELECT id, destination_id, state FROM ${source} WHERE ${range} ${sql} LIMIT ?`)
      const left = limit - rows.length
      const found = statement.all(nowMs, ...values, left + this.#leased) as RetriedRow[]
      rows.push(...this.#free(found, left))
    }
    return rows
  }

  /** The number of leased deliveries. */
  get #leased(): number {
    return this.#leases?.size ?? 0
  }

  /** The rows that are not leased, up to a number. */
  #free<Row extends WaitingRow>(rows: readonly Row[], rowsMax: number): readonly Row[] {
    const isLeased = ({ id, destination_id: destinationId }: Row): boolean =>
      this.#leases?.idsOf(fromStored(destinationId)).has(id) === true
    return rows.filter((row) => !isLeased(row)).slice(0, rowsMax)
  }

  #forgetOld(statement: Statement, beforeMs: number, rowsMax: number): number {
    const rows = statement.all(beforeMs, rowsMax) as EndedRow[]
    this.#forget(rows)
    return rows.length
  }

  #forgetBodiesOf(rows: readonly Pick<EndedRow, 'body_id'>[]): void {
    const bodyIds = rows.map(({ body_id: bodyId }) => bodyId)
    const { changes } = this.#forgetBodies.run(JSON.stringify(bodyIds))
    if (Number(changes) < new Set(bodyIds).size) this.#useBodiesLess.run(JSON.stringify(bodyIds))
  }

  #forget(rows: readonly EndedRow[]): void {
    if (rows.length === 0) return
    const ids = JSON.stringify(rows.map(({ id }) => id))
    this.#forgetRequests.run(ids)
    this.#forgetDeliveries.run(ids)
    this.#forgetBodiesOf(rows)
    for (const { destination_id: destinationId, state } of rows) {
      this.#counts.addFor(fromStored(destinationId), `purged_${state}`, 1)
    }
  }

  /** Ends pending deliveries whose retry window is over. */
  #expireOld({ nowMs, rowsMax }: PurgeRequest): readonly GivenUpDeliveries[] {
    const found = this.#expiredBefore.all(nowMs, rowsMax + this.#leased) as WaitingRow[]
    return this.#giveUpFree(found, { reason: 'window_over', nowMs, rowsMax })
  }

  /** Ends deliveries that have waited too long for their first attempt. */
  #abandonOld(request: PurgeRequest): readonly GivenUpDeliveries[] {
    const { nowMs, abandonedBeforeMs, rowsMax } = request
    const found = this.#untriedBefore.all(abandonedBeforeMs, rowsMax + this.#leased) as WaitingRow[]
    return this.#giveUpFree(found, { reason: 'abandoned', nowMs, rowsMax })
  }

  #giveUpFree(
    found: readonly WaitingRow[],
    { rowsMax, ...end }: GivingUpEnd & { readonly rowsMax: number },
  ): readonly GivenUpDeliveries[] {
    // Without leases this process does not know which deliveries are being sent.
    if (this.#leases === undefined) return []
    const idsOf = new Map<string, number[]>()
    for (const { id, destination_id: destinationId } of this.#free(found, rowsMax)) {
      const ids = idsOf.get(destinationId)
      if (ids === undefined) idsOf.set(destinationId, [id])
      else ids.push(id)
    }
    return Array.from(idsOf, ([destinationId, ids]) =>
      this.#giveUpAll(ids, { ...end, destinationId }),
    )
  }

  #giveUpAll(
    ids: readonly number[],
    end: GivingUpEnd & { readonly destinationId: string },
  ): GivenUpDeliveries {
    const destinationId = fromStored(end.destinationId)
    const { length: deliveries } = ids
    for (const id of ids) this.#giveUp.run(end.reason, end.nowMs, id)
    this.#counts.addFor(destinationId, 'expired', deliveries)
    this.#counts.addFor(destinationId, 'pending', -deliveries)
    return { destinationId, reason: end.reason, deliveries }
  }
}

function countOf(expired: readonly GivenUpDeliveries[]): number {
  return expired.reduce((sum, { deliveries }) => sum + deliveries, 0)
}
