import type { EndedCounts, PurgeRequest } from '../../delivery/index.ts'
import { fromStored } from '../stored-text.ts'
import type { Counts } from './counts.ts'
import type { Database, Statement } from './database.ts'
import type { Ending } from './settling.ts'

interface EndedRow {
  readonly id: number
  readonly destination_id: string
  readonly body_id: number
  readonly state: keyof EndedCounts
}

/** Deletes messageIds, and deliveries with their requests and bodies. The caller begins and ends transactions. */
export class Purging {
  readonly #counts: Counts
  readonly #deliveredBefore
  readonly #failedBefore
  readonly #forgetRequests
  readonly #takePending
  readonly #forgetDeliveries
  readonly #forgetBodies
  readonly #useBodiesLess
  readonly #forgetSeen

  constructor(database: Database, counts: Counts) {
    this.#counts = counts
    const asked = '(SELECT value FROM json_each(?))'
    const ended = 'SELECT id, destination_id, body_id, state FROM deliveries'
    this.#deliveredBefore = database.prepare(
      `${ended} WHERE state = 'delivered' AND settled_at < ? ORDER BY settled_at LIMIT ?`,
    )
    this.#failedBefore = database.prepare(`
      ${ended} WHERE (state = 'failed' OR state = 'expired') AND settled_at < ?
      ORDER BY settled_at LIMIT ?`)
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

  /** Deletes deliveries that ended before a time, at most `rowsMax` of each kind, and returns their number. */
  forgetOld({ deliveredBeforeMs, failedBeforeMs, rowsMax }: PurgeRequest): number {
    return (
      this.#forgetOld(this.#deliveredBefore, deliveredBeforeMs, rowsMax) +
      this.#forgetOld(this.#failedBefore, failedBeforeMs, rowsMax)
    )
  }

  /** Deletes old messageIds and returns their number. */
  forgetSeen({ messageIdsBeforeMs, rowsMax }: PurgeRequest): number {
    return Number(this.#forgetSeen.run(messageIdsBeforeMs, rowsMax).changes)
  }

  /**
   * Deletes the pending deliveries that these settlements end, for a store without a log. Returns their
   * number.
   */
  readonly forgetPending = (endings: readonly Ending[]): number => {
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
