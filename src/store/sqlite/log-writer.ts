import type {
  DiscardRequest,
  EndedCounts,
  LoggedState,
  PurgeRequest,
  PurgeResult,
  RetryRequest,
} from '../../delivery/index.ts'
import { discardedReason, type GivenUpDeliveries, type GivenUpReason } from '../../model/index.ts'
import { countRefused, erasedReason } from '../added-deliveries.ts'
import { fromStored } from '../stored-text.ts'
import type { Counts } from './counts.ts'
import type { Database, Statement } from './database.ts'
import type { Leases } from './leases.ts'
import { conditionsOf } from './log-reader.ts'
import type { Ending } from './settling.ts'

interface EndedRow {
  readonly id: number
  readonly destination_id: string
  readonly body_id: number
  readonly state: keyof EndedCounts
}

interface FoundRow {
  readonly id: number
  readonly destination_id: string
  readonly state: LoggedState
}

const isRetried = `settled_at <= ? AND reason IS NOT '${erasedReason}'`
const waits = "lane = 'retry' AND state = 'pending' AND coalesce(first_attempt_at, 0) <= ?"

/** The indexes that a retry by hand reads, and the range of each. None has delivered rows. */
const retriedOfOne = [
  ['deliveries_failed', `state = 'failed' AND ${isRetried}`],
  ['deliveries_failed', `state = 'expired' AND ${isRetried}`],
  ['deliveries_waiting', waits],
] as const

const retriedOfAll = [
  ['deliveries_ended', `(state = 'failed' OR state = 'expired') AND ${isRetried}`],
  ['deliveries_expiring', `expires_at IS NOT NULL AND ${waits}`],
] as const

/** Retries and discards deliveries by hand, and purges. The caller begins and ends transactions. */
export class LogWriter {
  readonly #database: Database
  readonly #counts: Counts
  readonly #leases: Leases | undefined
  readonly #makeDue
  readonly #end
  readonly #deliveredBefore
  readonly #failedBefore
  readonly #untriedBefore
  readonly #expiredBefore
  readonly #forgetRequests
  readonly #takePending
  readonly #forgetDeliveries
  readonly #forgetBodies
  readonly #useBodiesLess
  readonly #forgetSeen

  /** Without `leases` it cannot know which deliveries another process has leased, and gives up none. */
  constructor(database: Database, parts: { readonly counts: Counts; readonly leases?: Leases }) {
    this.#database = database
    this.#counts = parts.counts
    this.#leases = parts.leases
    const asked = '(SELECT value FROM json_each(?))'
    this.#makeDue = database.prepare(`
      UPDATE deliveries SET state = 'pending', lane = 'manual', due_at = ?, window_attempts = 0,
        first_attempt_at = NULL, expires_at = NULL, holds = '[]', reason = NULL, settled_at = NULL,
        manual_retries = manual_retries + 1
      WHERE id IN ${asked}`)
    this.#end = database.prepare(`
      UPDATE deliveries SET state = ?, reason = ?, settled_at = ? WHERE id IN ${asked}`)
    const ended = 'SELECT id, destination_id, body_id, state FROM deliveries'
    this.#deliveredBefore = database.prepare(
      `${ended} WHERE state = 'delivered' AND settled_at < ? ORDER BY settled_at LIMIT ?`,
    )
    this.#failedBefore = database.prepare(`
      ${ended} WHERE (state = 'failed' OR state = 'expired') AND settled_at < ?
      ORDER BY settled_at LIMIT ?`)
    this.#untriedBefore = database.prepare(`
      SELECT id, deliveries.destination_id, state FROM counts
      CROSS JOIN (SELECT 'first' AS lane UNION ALL SELECT 'manual') AS untried
      CROSS JOIN deliveries INDEXED BY deliveries_waiting
        ON deliveries.destination_id = counts.destination_id AND deliveries.lane = untried.lane
      WHERE name = 'pending' AND count > 0 AND state = 'pending' AND due_at < ? LIMIT ?`)
    this.#expiredBefore = database.prepare(`
      SELECT id, destination_id, state FROM deliveries WHERE state = 'pending' AND expires_at < ?
      ORDER BY expires_at LIMIT ?`)
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
  retry({ nowMs, filter, limit }: RetryRequest): number {
    const { sql, values } = conditionsOf(filter)
    const rows: FoundRow[] = []
    for (const [index, range] of filter.destinationId === undefined ? retriedOfAll : retriedOfOne) {
      // The primary key is the fastest way to find an id.
      const source = filter.id === undefined ? `deliveries INDEXED BY ${index}` : 'deliveries'
      const statement = this.#database.prepare(
        `SELECT id, destination_id, state FROM ${source} WHERE ${range} ${sql} LIMIT ?`,
      )
      rows.push(...this.#find(statement, [nowMs, ...values], limit - rows.length))
    }
    this.#makeDue.run(nowMs, idsOf(rows))
    for (const row of rows) this.#count(row, 'pending')
    return rows.length
  }

  /** Ends pending deliveries without sending them and returns their number. */
  discard({ nowMs, filter, limit }: DiscardRequest): number {
    const { sql, values } = conditionsOf(filter)
    // This index has only pending deliveries. The primary key finds an id faster.
    const source =
      filter.id === undefined ? 'deliveries INDEXED BY deliveries_waiting' : 'deliveries'
    const statement = this.#database.prepare(`
      SELECT id, destination_id, state FROM ${source}
      WHERE state = 'pending' AND accepted_at <= ? ${sql} LIMIT ?`)
    const rows = this.#find(statement, [nowMs, ...values], limit)
    this.#end.run('failed', discardedReason, nowMs, idsOf(rows))
    for (const row of rows) this.#count(row, 'failed')
    return rows.length
  }

  /** Deletes old rows, at most `rowsMax` of each kind. */
  purge(request: PurgeRequest): PurgeResult {
    const { nowMs, deliveredBeforeMs, failedBeforeMs, abandonedBeforeMs, rowsMax } = request
    const ended =
      this.#forgetOld(this.#deliveredBefore, deliveredBeforeMs, rowsMax) +
      this.#forgetOld(this.#failedBefore, failedBeforeMs, rowsMax)
    const expired: GivenUpDeliveries[] = []
    const giveUp = (statement: Statement, beforeMs: number, reason: GivenUpReason): void => {
      // Without leases, this process cannot know which deliveries are being sent.
      const left = this.#leases === undefined ? 0 : rowsMax - countOf(expired)
      const rows = left > 0 ? this.#find(statement, [beforeMs], left) : []
      this.#end.run('expired', reason, nowMs, idsOf(rows))
      for (const row of rows) this.#count(row, 'expired')
      const ids = rows.map(({ destination_id: id }) => fromStored(id))
      expired.push(...countRefused(ids, reason))
    }
    giveUp(this.#expiredBefore, nowMs, 'window_over')
    giveUp(this.#untriedBefore, abandonedBeforeMs, 'abandoned')
    const seen = Number(this.#forgetSeen.run(request.messageIdsBeforeMs, rowsMax).changes)
    return { rows: ended + countOf(expired) + seen, expired }
  }

  /** Deletes pending deliveries that end, for a store without a log. Returns their number. */
  forgetPending(endings: readonly Ending[]): number {
    const ids = JSON.stringify(endings.map(({ delivery }) => delivery.id))
    const rows = this.#takePending.all(ids) as Pick<EndedRow, 'body_id'>[]
    this.#forgetBodiesOf(rows)
    for (const { delivery, kind } of endings) {
      this.#counts.addFor(delivery.destinationId, `purged_${kind}`, 1)
    }
    return rows.length
  }

  /** Deletes ended deliveries: delivered ones first, each kind oldest first. */
  forgetEnded(count: number): void {
    const delivered = this.#forgetOld(this.#deliveredBefore, Number.MAX_SAFE_INTEGER, count)
    if (delivered === count) return
    this.#forgetOld(this.#failedBefore, Number.MAX_SAFE_INTEGER, count - delivered)
  }

  /** Returns the rows of a statement that are not leased, up to a number. */
  #find(
    statement: Statement,
    values: readonly (string | number | null)[],
    rowsMax: number,
  ): readonly FoundRow[] {
    const leases = this.#leases
    const rows = statement.all(...values, rowsMax + (leases?.size ?? 0)) as FoundRow[]
    const isLeased = ({ id, destination_id: destinationId }: FoundRow): boolean =>
      leases?.idsOf(fromStored(destinationId)).has(id) === true
    return rows.filter((row) => !isLeased(row)).slice(0, rowsMax)
  }

  /** Counts a delivery in its new state instead of its old one. */
  #count({ destination_id: stored, state: before }: FoundRow, after: LoggedState): void {
    const destinationId = fromStored(stored)
    this.#counts.addFor(destinationId, before, -1)
    this.#counts.addFor(destinationId, after, 1)
  }

  #forgetOld(statement: Statement, beforeMs: number, rowsMax: number): number {
    const rows = statement.all(beforeMs, rowsMax) as EndedRow[]
    if (rows.length === 0) return 0
    const ids = idsOf(rows)
    this.#forgetRequests.run(ids)
    this.#forgetDeliveries.run(ids)
    this.#forgetBodiesOf(rows)
    for (const { destination_id: destinationId, state } of rows) {
      this.#counts.addFor(fromStored(destinationId), `purged_${state}`, 1)
    }
    return rows.length
  }

  #forgetBodiesOf(rows: readonly Pick<EndedRow, 'body_id'>[]): void {
    const bodyIds = rows.map(({ body_id: bodyId }) => bodyId)
    const { changes } = this.#forgetBodies.run(JSON.stringify(bodyIds))
    if (Number(changes) < new Set(bodyIds).size) this.#useBodiesLess.run(JSON.stringify(bodyIds))
  }
}

function idsOf(rows: readonly { readonly id: number }[]): string {
  return JSON.stringify(rows.map(({ id }) => id))
}

function countOf(expired: readonly GivenUpDeliveries[]): number {
  return expired.reduce((sum, { deliveries }) => sum + deliveries, 0)
}
