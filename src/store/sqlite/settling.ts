import type { LeaseEnd } from '../../delivery/index.ts'
import { discardedReason } from '../../model/index.ts'
import { firstTryOf, requestsOf, type EndRequest, type SentRequest } from '../log/first-tries.ts'
import { toStored, toStoredOrNull } from '../stored-text.ts'
import type { Counts } from './counts.ts'
import type { Database, SqlValue, Statement } from './database.ts'
import { RowsStatement } from './rows-statement.ts'

/** A settlement that ends a delivery. */
export type Ending = Extract<LeaseEnd, { readonly attempts: number }>

interface EndedRow {
  readonly state: string
  readonly attempts: number
  readonly reason: string | null
  readonly settled_at: number | null
  readonly try_at: number | null
}

/** Deletes deliveries that end, and returns their number. */
type Forget = (endings: readonly Ending[]) => number

/** An SQL condition: the delivery `d` has been erased. Late answers to an erased delivery are not kept. */
const isErased = `d.state <> 'pending' AND d.user_id IS NULL
  AND EXISTS (SELECT 1 FROM messages WHERE messages.id = d.body_id AND body = '')`

/**
 * Ends leases and writes requests. Every change of a delivery tests its state first, because another process
 * may have changed it. The caller begins and ends transactions.
 */
export class Settling {
  readonly #counts: Counts
  readonly #forget: Forget | undefined
  readonly #endTried: RowsStatement
  readonly #end: RowsStatement
  readonly #ended: Statement
  readonly #deliverDiscarded: Statement
  readonly #retry: Statement
  readonly #countRounds: Statement
  readonly #giveBack: Statement
  readonly #addRequests: RowsStatement

  /** @param parts - `forget` is set only for a store in memory without a log */
  constructor(database: Database, parts: { counts: Counts; forget: Forget | undefined }) {
    this.#counts = parts.counts
    this.#forget = parts.forget
    this.#endTried = new RowsStatement(
      database,
      '(?, ?, ?, ?, ?, ?)',
      (rows) => `
        UPDATE OR FAIL deliveries SET state = 'delivered', attempts = 1, reason = NULL, settled_at = ?,
          try_url = tried.url, try_at = tried.at, try_duration = tried.duration,
          try_status = tried.status, try_excerpt = tried.excerpt
        FROM (WITH tried (id, url, at, duration, status, excerpt) AS (VALUES ${rows})
          SELECT * FROM tried) AS tried
        WHERE deliveries.id = tried.id AND deliveries.state = 'pending'`,
    )
    this.#end = new RowsStatement(
      database,
      '(?, ?, ?, ?)',
      (rows) => `
        UPDATE OR FAIL deliveries SET settled_at = ?, state = ended.state, attempts = ended.attempts,
          reason = ended.reason
        FROM (WITH ended (id, state, attempts, reason) AS (VALUES ${rows}) SELECT * FROM ended) AS ended
        WHERE deliveries.id = ended.id AND deliveries.state = 'pending'`,
    )
    this.#ended = database.prepare(
      'SELECT state, attempts, reason, settled_at, try_at FROM deliveries WHERE id = ?',
    )
    this.#deliverDiscarded = database.prepare(`
      UPDATE deliveries SET state = 'delivered', attempts = ?, reason = NULL, settled_at = ?
      WHERE id = ?`)
    this.#retry = database.prepare(`
      UPDATE deliveries SET lane = 'retry', due_at = ?, expires_at = ?, attempts = ?,
        window_attempts = ?, first_attempt_at = ?, holds = ?, reason = ?
      WHERE id = ? AND state = 'pending' AND lane = ?`)
    this.#countRounds = database.prepare(`
      UPDATE deliveries SET attempts = ? WHERE id = ? AND state = 'pending'`)
    this.#giveBack = database.prepare(`
      UPDATE deliveries SET due_at = ? WHERE id = ? AND state = 'pending' AND lane = ?`)
    this.#addRequests = new RowsStatement(
      database,
      '(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      (rows) => `
        WITH sent (delivery_id, place, attempt, lane, url, at, duration, outcome,
          status, error, excerpt) AS (VALUES ${rows})
        INSERT OR FAIL INTO requests SELECT d.id,
          sent.place + (SELECT coalesce(max(r.id), 0) FROM requests r WHERE r.delivery_id = d.id),
          sent.attempt, sent.lane, sent.url, sent.at, sent.duration, sent.outcome, sent.status,
          sent.error, CASE WHEN ${isErased} THEN '' ELSE sent.excerpt END
        FROM sent CROSS JOIN deliveries d ON d.id = sent.delivery_id`,
    )
  }

  /**
   * Applies settlements, and writes requests. Drops the requests of purged deliveries.
   *
   * @returns the settlements that had no effect, because another process had already ended their deliveries
   */
  settle(batch: EndRequest<LeaseEnd>): ReadonlySet<LeaseEnd> {
    const { nowMs } = batch
    this.#writeRequests(batch.requests)
    const endings: Ending[] = []
    const ineffective = new Set<LeaseEnd>()
    for (const settlement of batch.settlements) {
      switch (settlement.kind) {
        case 'delivered':
        case 'failed':
        case 'expired':
          endings.push(settlement)
          break
        case 'retry':
          if (!this.#planRetry(settlement)) ineffective.add(settlement)
          break
        case 'returned':
          if (!this.#returnToLane(settlement)) ineffective.add(settlement)
          break
      }
    }
    const isAllPending = this.#writeEnds(endings, nowMs) === endings.length
    for (const ending of endings) {
      const { kind, delivery } = ending
      const from = isAllPending ? 'pending' : this.#stateBefore(ending, nowMs)
      if (from === undefined) {
        ineffective.add(ending)
        continue
      }
      this.#counts.addFor(delivery.destinationId, kind, 1)
      this.#counts.addFor(delivery.destinationId, from, -1)
    }
    return ineffective
  }

  /**
   * Schedules a retry; returns false if the delivery has ended. A delivery that another process made due
   * meanwhile stays due.
   */
  #planRetry(settlement: LeaseEnd & { kind: 'retry' }): boolean {
    const { delivery, dueAtMs, expiresAtMs, progress, reason } = settlement
    const { attempts, windowAttempts, firstAttemptAtMs, holds } = progress
    const { id, lane } = delivery
    const next = [dueAtMs, expiresAtMs, attempts, windowAttempts, firstAttemptAtMs]
    const { changes } = this.#retry.run(...next, JSON.stringify(holds), toStored(reason), id, lane)
    return Number(changes) > 0 || Number(this.#countRounds.run(attempts, id).changes) > 0
  }

  /** Returns a delivery to its lane; returns false if the delivery has ended. */
  #returnToLane({ delivery, dueAtMs }: LeaseEnd & { kind: 'returned' }): boolean {
    const { id, lane } = delivery
    if (Number(this.#giveBack.run(dueAtMs, id, lane).changes) > 0) return true
    return (this.#ended.get(id) as EndedRow | undefined)?.state === 'pending'
  }

  /** Ends the deliveries that are still pending, and returns their number. */
  #writeEnds(endings: readonly Ending[], nowMs: number): number {
    if (this.#forget !== undefined) return this.#forget(endings)
    const tried: SqlValue[] = []
    const ended: SqlValue[] = []
    for (const ending of endings) {
      const { id } = ending.delivery
      const firstTry = firstTryOf(ending)
      if (firstTry === undefined) {
        const reason = ending.kind === 'delivered' ? null : toStored(ending.reason)
        ended.push(id, ending.kind, ending.attempts, reason)
      } else {
        const { url, atMs, durationMs, status, excerpt } = firstTry
        tried.push(id, toStored(url), atMs, durationMs, status, toStored(excerpt))
      }
    }
    return this.#endTried.run(tried, [nowMs]) + this.#end.run(ended, [nowMs])
  }

  /**
   * Returns the state that a delivery had before its end; undefined if another process has ended it. A
   * delivery that was discarded while it was being sent becomes delivered, because the endpoint has it.
   */
  #stateBefore(ending: Ending, nowMs: number): 'pending' | 'failed' | undefined {
    const { kind, attempts, delivery } = ending
    const row = this.#ended.get(delivery.id) as EndedRow | undefined
    if (row === undefined) return undefined
    if (row.try_at === null) this.#writeRequests(requestsOf(ending))
    if (row.state === kind && row.attempts === attempts && row.settled_at === nowMs)
      return 'pending'
    if (kind !== 'delivered' || row.state !== 'failed' || row.reason !== discardedReason)
      return undefined
    this.#deliverDiscarded.run(attempts, nowMs, delivery.id)
    return 'failed'
  }

  #writeRequests(requests: readonly SentRequest[]): void {
    if (this.#forget !== undefined) return
    const values: SqlValue[] = []
    for (const [index, request] of requests.entries()) {
      values.push(
        request.deliveryId,
        index + 1,
        request.attempt,
        request.lane,
        toStored(request.url),
        request.atMs,
        request.durationMs,
        request.outcome,
        request.status,
        toStoredOrNull(request.error),
        toStored(request.excerpt),
      )
    }
    this.#addRequests.run(values)
  }
}
