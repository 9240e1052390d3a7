import type {
  EndedCounts,
  LoggedState,
  PurgeRequest,
  PurgeResult,
  RetryRequest,
} from '../../delivery/index.ts'
import type { GivenUpDeliveries, GivenUpReason, Lane } from '../../model/index.ts'
import { erasedReason } from '../erased-reason.ts'
import type { Counts } from './counts.ts'
import type { Database } from './database.ts'
import { conditionsOf, DestinationIds } from './delivery-rows.ts'
import type { Leases } from './leases.ts'
import { fromStored } from './stored-text.ts'

interface EndedRow {
  readonly id: number
  readonly destination_id: string
  readonly body_id: number
}

interface WaitingRow {
  readonly id: number
  readonly destination_id: string
}

interface RetriedRow {
  readonly id: number
  readonly state: LoggedState
}

const isSettled = 'settled_at <= ?'
const waits = "state = 'pending' AND coalesce(first_attempt_at, 0) <= ?"

const isKept = `reason IS NOT '${erasedReason}'`

/**
 * What a retry by hand takes from, up to a moment: ranges of an index, so that it need not read what is
 * delivered.
 */
const retried = [
  { index: 'deliveries_failed', range: `state = 'failed' AND ${isSettled} AND ${isKept}` },
  { index: 'deliveries_failed', range: `state = 'expired' AND ${isSettled} AND ${isKept}` },
  { index: 'deliveries_waiting', range: `lane = 'retry' AND ${waits}` },
]

const noIds: ReadonlySet<number> = new Set()

/** Retries by hand and forgets what is old; whoever calls it begins and ends transactions. */
export class LogWriter {
  readonly #database: Database
  readonly #counts: Counts
  readonly #leases: Leases | undefined
  readonly #destinationIds: DestinationIds
  readonly #retryOne
  readonly #deliveredBefore
  readonly #failedBefore
  readonly #waitingBefore
  readonly #expiredBefore
  readonly #giveUp
  readonly #forgetRequests
  readonly #forgetDeliveries
  readonly #forgetBodies
  readonly #useBodiesLess
  readonly #forgetSeen

  /** Without leases it does not know what another process has given out, and gives nothing up. */
  constructor(database: Database, parts: { readonly counts: Counts; readonly leases?: Leases }) {
    this.#database = database
    this.#counts = parts.counts
    this.#leases = parts.leases
    this.#destinationIds = new DestinationIds(database)
    this.#retryOne = database.prepare(`
      UPDATE deliveries SET state = 'pending', lane = 'manual', due_at = ?, window_attempts = 0,
        first_attempt_at = NULL, expires_at = NULL, holds = '[]', reason = NULL, settled_at = NULL,
        manual_retries = manual_retries + 1
      WHERE id = ?`)
    this.#deliveredBefore = database.prepare(`
      SELECT id, destination_id, body_id FROM deliveries
      WHERE state = 'delivered' AND settled_at < ? ORDER BY settled_at LIMIT ?`)
    this.#failedBefore = database.prepare(`
      SELECT id, destination_id, body_id FROM deliveries
      WHERE destination_id = ? AND state = ? AND (state = 'failed' OR state = 'expired')
        AND settled_at < ? ORDER BY settled_at LIMIT ?`)
    this.#waitingBefore = database.prepare(`
      SELECT id FROM deliveries
      WHERE destination_id = ? AND lane = ? AND state = 'pending' AND due_at < ?
      ORDER BY due_at LIMIT ?`)
    this.#expiredBefore = database.prepare(`
      SELECT id, destination_id FROM deliveries
      WHERE state = 'pending' AND expires_at < ? ORDER BY expires_at LIMIT ?`)
    this.#giveUp = database.prepare(`
      UPDATE deliveries SET state = 'expired', reason = ?, settled_at = ? WHERE id = ?`)
    const asked = '(SELECT value FROM json_each(?))'
    this.#forgetRequests = database.prepare(`DELETE FROM requests WHERE delivery_id IN ${asked}`)
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

  /** Makes deliveries due at once, and says how many. */
  retry(request: RetryRequest): number {
    const { nowMs, filter, limit } = request
    let left = limit
    for (const destinationId of this.#destinationIds.of(filter)) {
      if (left <= 0) break
      const rows = this.#toRetry(destinationId, { ...request, limit: left })
      for (const { id, state } of rows) {
        this.#retryOne.run(nowMs, id)
        this.#counts.addFor(fromStored(destinationId), 'pending', 1)
        this.#counts.addFor(fromStored(destinationId), state, -1)
      }
      left -= rows.length
    }
    return limit - left
  }

  /** Forgets what is old, so many rows of each kind at the most. */
  purge(request: PurgeRequest): PurgeResult {
    const { deliveredBeforeMs, failedBeforeMs, messageIdsBeforeMs, rowsMax } = request
    const delivered = this.#purgeDelivered(deliveredBeforeMs, rowsMax)
    const failed = this.#purgeFailed(failedBeforeMs, rowsMax)
    const overdue = this.#expireOld(request)
    const left = rowsMax - countOf(overdue)
    const abandoned = left > 0 ? this.#abandonOld({ ...request, rowsMax: left }) : []
    const seen = Number(this.#forgetSeen.run(messageIdsBeforeMs, rowsMax).changes)
    const expired = [...overdue, ...abandoned]
    return { rows: delivered + failed + countOf(expired) + seen, expired }
  }

  /** Forgets deliveries that have ended, the oldest first, and delivered ones before the others. */
  forgetEnded(count: number): void {
    const delivered = this.#purgeDelivered(Number.MAX_SAFE_INTEGER, count)
    if (delivered < count) this.#purgeFailed(Number.MAX_SAFE_INTEGER, count - delivered)
  }

  #toRetry(destinationId: string, { nowMs, filter, limit }: RetryRequest): readonly RetriedRow[] {
    const ofDestination = fromStored(destinationId)
    const leasedIds = this.#leases?.idsOf(ofDestination) ?? noIds
    const { sql, values } = conditionsOf({ ...filter, destinationId: ofDestination })
    const rows: RetriedRow[] = []
    for (const { index, range } of retried) {
      // Where an id is asked for, nothing is faster than the table's own key.
      const source = filter.id === undefined ? `deliveries INDEXED BY ${index}` : 'deliveries'
      const statement = this.#database.prepare(`
        SELECT id, state FROM ${source} WHERE ${range} ${sql} LIMIT ?`)
      const rowsMax = limit - rows.length + leasedIds.size
      const found = statement.all(nowMs, ...values, rowsMax) as RetriedRow[]
      rows.push(...found.filter(({ id }) => !leasedIds.has(id)).slice(0, limit - rows.length))
    }
    return rows
  }

  #purgeDelivered(beforeMs: number, rowsMax: number): number {
    const rows = this.#deliveredBefore.all(beforeMs, rowsMax) as EndedRow[]
    this.#forget(rows, 'delivered')
    return rows.length
  }

  #purgeFailed(beforeMs: number, rowsMax: number): number {
    let left = rowsMax
    for (const destinationId of this.#destinationIds.of({})) {
      for (const state of ['failed', 'expired'] as const) {
        const rows = this.#failedBefore.all(destinationId, state, beforeMs, left) as EndedRow[]
        this.#forget(rows, state)
        left -= rows.length
      }
    }
    return rowsMax - left
  }

  #forget(rows: readonly EndedRow[], state: keyof EndedCounts): void {
    if (rows.length === 0) return
    const ids = JSON.stringify(rows.map(({ id }) => id))
    const bodyIds = rows.map(({ body_id: bodyId }) => bodyId)
    this.#forgetRequests.run(ids)
    this.#forgetDeliveries.run(ids)
    const { changes } = this.#forgetBodies.run(JSON.stringify(bodyIds))
    if (Number(changes) < new Set(bodyIds).size) this.#useBodiesLess.run(JSON.stringify(bodyIds))
    for (const { destination_id: destinationId } of rows) {
      this.#counts.addFor(fromStored(destinationId), `purged_${state}`, 1)
    }
  }

  /** Ends what waits although its retry window is over, whatever destination it is for. */
  #expireOld({ nowMs, rowsMax }: PurgeRequest): readonly GivenUpDeliveries[] {
    const leases = this.#leases
    if (leases === undefined) return []
    const found = this.#expiredBefore.all(nowMs, rowsMax + leases.size) as WaitingRow[]
    const idsOf = new Map<string, number[]>()
    const isFree = (row: WaitingRow): boolean => !leases.idsOf(destinationOf(row)).has(row.id)
    for (const row of found.filter(isFree).slice(0, rowsMax)) {
      const ids = idsOf.get(row.destination_id)
      if (ids === undefined) idsOf.set(row.destination_id, [row.id])
      else ids.push(row.id)
    }
    return Array.from(idsOf, ([destinationId, ids]) =>
      this.#giveUpAll(ids, { destinationId, reason: 'window_over', nowMs }),
    )
  }

  /** Ends what waits for too long for its first attempt. */
  #abandonOld({ nowMs, abandonedBeforeMs, rowsMax }: PurgeRequest): readonly GivenUpDeliveries[] {
    if (this.#leases === undefined) return []
    const abandoned: GivenUpDeliveries[] = []
    let left = rowsMax
    for (const destinationId of this.#destinationIds.of({})) {
      const leasedIds = this.#leases.idsOf(fromStored(destinationId))
      for (const lane of untriedLanes) {
        const found = this.#waitingBefore.all(
          destinationId,
          lane,
          abandonedBeforeMs,
          left + leasedIds.size,
        ) as { readonly id: number }[]
        const ids = found
          .map(({ id }) => id)
          .filter((id) => !leasedIds.has(id))
          .slice(0, left)
        if (ids.length === 0) continue
        abandoned.push(this.#giveUpAll(ids, { destinationId, reason: 'abandoned', nowMs }))
        left -= ids.length
      }
    }
    return abandoned
  }

  #giveUpAll(
    ids: readonly number[],
    end: { readonly destinationId: string; readonly reason: GivenUpReason; readonly nowMs: number },
  ): GivenUpDeliveries {
    const destinationId = fromStored(end.destinationId)
    const { length: deliveries } = ids
    for (const id of ids) this.#giveUp.run(end.reason, end.nowMs, id)
    this.#counts.addFor(destinationId, 'expired', deliveries)
    this.#counts.addFor(destinationId, 'pending', -deliveries)
    return { destinationId, reason: end.reason, deliveries }
  }
}

/** The lanes of what was not tried in its window. */
const untriedLanes: readonly Lane[] = ['manual', 'first']

function countOf(expired: readonly GivenUpDeliveries[]): number {
  return expired.reduce((sum, { deliveries }) => sum + deliveries, 0)
}

function destinationOf(row: WaitingRow): string {
  return fromStored(row.destination_id)
}
