import type { LeaseEnd } from '../../delivery/index.ts'
import { discardedReason } from '../../model/index.ts'
import { firstTryOf, requestsOf, type EndRequest, type SentRequest } from '../log/first-tries.ts'
import { sql } from '../sql.ts'
import { toStored, toStoredOrNull } from '../stored-text.ts'
import type { SqlValue } from './database.ts'
import { forgetPending, type Ending } from './purging.ts'
import { rowsStatement, type Statements } from './statements.ts'
import type { StoreParts } from './store-parts.ts'

interface EndedRow {
  readonly state: string
  readonly attempts: number
  readonly reason: string | null
  readonly settled_at: number | null
  readonly try_at: number | null
}

/** The condition that the delivery `d` was erased. If an answer arrives after that, its excerpt is not stored. */
const isErased = `d.state <> 'pending' AND d.user_id IS NULL
  AND EXISTS (SELECT 1 FROM messages WHERE messages.id = d.body_id AND body = '')`

const end = rowsStatement(
  '(?, ?, ?, ?, ?, ?, ?, ?, ?)',
  (rows) => `
    UPDATE OR FAIL deliveries SET settled_at = ?, state = ended.state, attempts = ended.attempts,
      reason = ended.reason, try_url = ended.url, try_at = ended.at, try_duration = ended.duration,
      try_status = ended.status, try_excerpt = ended.excerpt
    FROM (WITH ended (id, state, attempts, reason, url, at, duration, status, excerpt)
      AS (VALUES ${rows}) SELECT * FROM ended) AS ended
    WHERE deliveries.id = ended.id AND deliveries.state = 'pending'`,
)

const addRequests = rowsStatement(
  '(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  (rows) => `
    WITH sent (delivery_id, position, attempt, lane, url, at, duration, outcome,
      status, error, excerpt) AS (VALUES ${rows})
    INSERT OR FAIL INTO requests SELECT d.id,
      sent.position + (SELECT coalesce(max(r.id), 0) FROM requests r WHERE r.delivery_id = d.id),
      sent.attempt, sent.lane, sent.url, sent.at, sent.duration, sent.outcome, sent.status,
      sent.error, CASE WHEN ${isErased} THEN '' ELSE sent.excerpt END
    FROM sent CROSS JOIN deliveries d ON d.id = sent.delivery_id`,
)

/**
 * Applies settlements and stores requests, except those of purged deliveries. Each change checks the delivery's
 * state, which another process may have changed. Call it in a transaction.
 *
 * @returns the settlements without effect, because another process had already ended their deliveries
 */
export function settle(batch: EndRequest<LeaseEnd>, parts: StoreParts): ReadonlySet<LeaseEnd> {
  const { nowMs } = batch
  const { statements, counts } = parts
  writeRequests(batch.requests, parts)
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
        if (!planRetry(settlement, statements)) ineffective.add(settlement)
        break
      case 'returned':
        if (!returnToLane(settlement, statements)) ineffective.add(settlement)
        break
    }
  }
  const isAllPending = writeEnds(endings, nowMs, parts) === endings.length
  for (const ending of endings) {
    const { kind, delivery } = ending
    const from = isAllPending ? 'pending' : stateBefore(ending, nowMs, parts)
    if (from === undefined) {
      ineffective.add(ending)
      continue
    }
    counts.addFor(delivery.destinationId, kind, 1)
    counts.addFor(delivery.destinationId, from, -1)
  }
  return ineffective
}

/**
 * Schedules a retry; returns false if the delivery has ended. If another process made the delivery due
 * meanwhile, it stays due.
 */
function planRetry(settlement: LeaseEnd & { kind: 'retry' }, statements: Statements): boolean {
  const { delivery, dueAtMs, expiresAtMs, progress, reason } = settlement
  const { attempts, windowAttempts, firstAttemptAtMs, holds } = progress
  const { id, lane } = delivery
  const planned = statements.run(sql`
    UPDATE deliveries SET lane = 'retry', due_at = ${dueAtMs}, expires_at = ${expiresAtMs},
      attempts = ${attempts}, window_attempts = ${windowAttempts},
      first_attempt_at = ${firstAttemptAtMs}, holds = ${JSON.stringify(holds)},
      reason = ${toStored(reason)}
    WHERE id = ${id} AND state = 'pending' AND lane = ${lane}`)
  if (planned > 0) return true
  const counted = statements.run(
    sql`UPDATE deliveries SET attempts = ${attempts} WHERE id = ${id} AND state = 'pending'`,
  )
  return counted > 0
}

/** Puts a delivery back into its lane; returns false if the delivery has ended. */
function returnToLane(
  settlement: LeaseEnd & { kind: 'returned' },
  statements: Statements,
): boolean {
  const { delivery, dueAtMs } = settlement
  const { id, lane } = delivery
  const returned = statements.run(sql`
    UPDATE deliveries SET due_at = ${dueAtMs}
    WHERE id = ${id} AND state = 'pending' AND lane = ${lane}`)
  return returned > 0 || rowOf(id, statements)?.state === 'pending'
}

/** Ends the deliveries that are still pending. Returns how many. */
function writeEnds(endings: readonly Ending[], nowMs: number, parts: StoreParts): number {
  if (!parts.keepsLog) return forgetPending(endings, parts)
  return parts.statements.runRows(end, endings.map(endedValues), [nowMs])
}

function endedValues(ending: Ending): readonly SqlValue[] {
  const reason = ending.kind === 'delivered' ? null : toStored(ending.reason)
  const ended = [ending.delivery.id, ending.kind, ending.attempts, reason]
  const firstTry = firstTryOf(ending)
  if (firstTry === undefined) return [...ended, null, null, null, null, null]
  const { url, atMs, durationMs, status, excerpt } = firstTry
  return [...ended, toStored(url), atMs, durationMs, status, toStored(excerpt)]
}

/**
 * Returns the state that a delivery had before its end; undefined if another process has ended it.
 * A delivery that was discarded during a successful request still becomes delivered, because the endpoint has it.
 */
function stateBefore(
  ending: Ending,
  nowMs: number,
  parts: StoreParts,
): 'pending' | 'failed' | undefined {
  const { kind, attempts, delivery } = ending
  const row = rowOf(delivery.id, parts.statements)
  if (row === undefined) return undefined
  if (row.try_at === null) writeRequests(requestsOf(ending), parts)
  if (row.state === kind && row.attempts === attempts && row.settled_at === nowMs) return 'pending'
  if (kind !== 'delivered' || row.state !== 'failed' || row.reason !== discardedReason)
    return undefined
  parts.statements.run(sql`
    UPDATE deliveries SET state = 'delivered', attempts = ${attempts}, reason = NULL,
      settled_at = ${nowMs} WHERE id = ${delivery.id}`)
  return 'failed'
}

function rowOf(id: number, statements: Statements): EndedRow | undefined {
  return statements.get(sql`
    SELECT state, attempts, reason, settled_at, try_at FROM deliveries WHERE id = ${id}`) as
    EndedRow | undefined
}

function writeRequests(requests: readonly SentRequest[], parts: StoreParts): void {
  if (!parts.keepsLog) return
  const rows = requests.map((request, index) => [
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
  ])
  parts.statements.runRows(addRequests, rows)
}
