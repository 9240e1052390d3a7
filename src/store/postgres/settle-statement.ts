import type { DeliveryProgress, Settlement } from '../../delivery/index.ts'
import { firstTryOf, type EndRequest, type SentRequest } from '../log/first-tries.ts'
import type { Query } from '../sql.ts'
import { countRows, inState } from './counts.ts'
import { GivenRows } from './given-rows.ts'

/** The result of the statement: the positions of the settlements that took effect. */
export interface SettledRow {
  readonly positions: readonly number[] | null
}

interface SettleQuery extends Query {
  readonly settlementsOf: (rows: readonly SettledRow[]) => readonly Settlement[]
}

/** The settlements as parameters. A null keeps or clears the row's value, depending on the column. */
const given = new GivenRows<Settlement>('given', 3, {
  destination_id: ['text', (end) => end.delivery.destinationId],
  id: ['bigint', (end) => end.delivery.id],
  lease: ['bigint', (end) => end.delivery.lease],
  accepted_at: ['bigint', (end) => end.delivery.acceptedAtMs],
  attempts_before: ['int', (end) => end.delivery.attempts],
  kind: ['text', (end) => end.kind],
  attempts: ['int', (end) => attemptsOf(end)],
  reason: [
    'text',
    (end) => (end.kind === 'delivered' || end.kind === 'returned' ? null : end.reason),
  ],
  due_at: [
    'bigint',
    (end) => (end.kind === 'retry' || end.kind === 'returned' ? end.dueAtMs : null),
  ],
  expires_at: ['bigint', (end) => (end.kind === 'retry' ? end.expiresAtMs : null)],
  window_attempts: ['int', (end) => progressOf(end)?.windowAttempts],
  first_attempt_at: ['bigint', (end) => progressOf(end)?.firstAttemptAtMs],
  holds: ['text', (end) => JSON.stringify(progressOf(end)?.holds)],
  try_url: ['text', (end) => firstTryOf(end)?.url],
  try_at: ['bigint', (end) => firstTryOf(end)?.atMs],
  try_duration: ['float8', (end) => firstTryOf(end)?.durationMs],
  try_status: ['int', (end) => firstTryOf(end)?.status],
  try_excerpt: ['text', (end) => firstTryOf(end)?.excerpt],
})

function attemptsOf(end: Settlement): number | null {
  if (end.kind === 'returned') return null
  return end.kind === 'retry' ? end.progress.attempts : end.attempts
}

function progressOf(end: Settlement): DeliveryProgress | undefined {
  return end.kind === 'retry' ? end.progress : undefined
}

const requests = new GivenRows<SentRequest>('request', given.next, {
  destination_id: ['text', ({ destinationId }) => destinationId],
  delivery_id: ['bigint', ({ deliveryId }) => deliveryId],
  at: ['bigint', ({ atMs }) => atMs],
  duration: ['float8', ({ durationMs }) => durationMs],
  attempt: ['int', ({ attempt }) => attempt],
  status: ['int', ({ status }) => status],
  lane: ['text', ({ lane }) => lane],
  outcome: ['text', ({ outcome }) => outcome],
  url: ['text', ({ url }) => url],
  error: ['text', ({ error }) => error],
  excerpt: ['text', ({ excerpt }) => excerpt],
})

const counted = countRows(
  {
    pending: '-count(*)',
    delivered: inState('delivered'),
    failed: inState('failed'),
    expired: inState('expired'),
  },
  "settled WHERE state <> 'pending'",
)

/**
 * Ends only leases that this process still has: a later lease has a different holder or number. Every leased row is
 * pending. Don't test for `pending`, because the planner might then read all pending rows.
 *
 * `delivered` takes effect even if another process has leased the delivery since, but not if a settlement has changed
 * the state or the number of attempts. After a backup is restored, a different delivery may get the same id;
 * `accepted_at` excludes it.
 */
const settled = `
  UPDATE evroute_deliveries delivery SET
    state = CASE WHEN given.kind IN ('retry', 'returned') THEN 'pending' ELSE given.kind END,
    lane = CASE WHEN given.kind = 'retry' THEN 'retry' ELSE delivery.lane END,
    settled_at = CASE WHEN given.kind IN ('retry', 'returned') THEN NULL ELSE $1::bigint END,
    reason = CASE WHEN given.kind = 'returned' THEN delivery.reason ELSE given.reason END,
    attempts = coalesce(given.attempts, delivery.attempts),
    due_at = coalesce(given.due_at, delivery.due_at),
    expires_at = coalesce(given.expires_at, delivery.expires_at),
    window_attempts = coalesce(given.window_attempts, delivery.window_attempts),
    first_attempt_at = CASE WHEN given.kind = 'retry' THEN given.first_attempt_at
      ELSE delivery.first_attempt_at END,
    holds = coalesce(given.holds, delivery.holds),
    try_url = given.try_url, try_at = given.try_at, try_duration = given.try_duration,
    try_status = given.try_status, try_excerpt = given.try_excerpt,
    lease_holder = NULL, lease = NULL, leased_until = NULL
  FROM given
  WHERE delivery.destination_id = given.destination_id AND delivery.id = given.id
    AND ((delivery.lease_holder = $2::bigint AND delivery.lease = given.lease)
      OR (given.kind = 'delivered' AND delivery.state = 'pending'
        AND delivery.attempts = given.attempts_before
        AND delivery.accepted_at = given.accepted_at))
  RETURNING delivery.destination_id, delivery.id, delivery.state, delivery.is_erased, given.position`

/**
 * Deliveries with requests but no effective settlement, for example after a lost lease. Locks them, so that none is
 * purged or erased before its requests are written.
 */
const late = `
  SELECT delivery.destination_id, delivery.id, delivery.is_erased
  FROM (SELECT DISTINCT destination_id, delivery_id FROM request
    WHERE (destination_id, delivery_id) NOT IN (SELECT destination_id, id FROM settled)) missing
  JOIN evroute_deliveries delivery
    ON delivery.destination_id = missing.destination_id AND delivery.id = missing.delivery_id
  FOR KEY SHARE OF delivery`

/** Logs the requests of deliveries that were not purged. If a delivery is erased, leaves out the answers. */
const logged = `
  INSERT INTO evroute_requests (written_at, ${requests.columns})
  SELECT $1, request.destination_id, delivery_id, at, duration, attempt, status, lane, outcome, url, error,
    CASE WHEN known.is_erased THEN '' ELSE excerpt END
  FROM request JOIN (
    SELECT destination_id, id, is_erased FROM settled UNION ALL SELECT * FROM late) known
    ON known.destination_id = request.destination_id AND known.id = request.delivery_id`

/** The requests to write: those of the batch, and the first tries of deliveries that were not settled. */
const ofRequests = `
  SELECT ${requests.columns} FROM ${requests.sql}
  UNION ALL
  SELECT destination_id, id, try_at, try_duration, 1, try_status, 'first', 'success', try_url, NULL, try_excerpt
  FROM given WHERE try_at IS NOT NULL AND position NOT IN (SELECT position FROM settled)`

const sql = `
  WITH given AS MATERIALIZED (SELECT * FROM ${given.sql}), settled AS (${settled}),
  request AS MATERIALIZED (${ofRequests}), late AS MATERIALIZED (${late}), logged AS (${logged}),
  counted AS (${counted})
  SELECT array_agg(position::int) AS positions FROM settled`

/** Returns the statement that ends leases and writes requests to the log. */
export function settleQuery(batch: EndRequest<Settlement>, holder: number): SettleQuery {
  const settlements = batch.settlements.toSorted(inOneOrder)
  const values = [
    batch.nowMs,
    holder,
    ...given.values(settlements),
    ...requests.values(batch.requests),
  ]
  const settlementsOf: SettleQuery['settlementsOf'] = ([row]) =>
    (row?.positions ?? []).flatMap((position) => settlements[position - 1] ?? [])
  return { name: 'settle', sql, values, settlementsOf }
}

/** Compares settlements by the order in which all transactions lock rows. */
function inOneOrder({ delivery: first }: Settlement, { delivery: second }: Settlement): number {
  if (first.destinationId === second.destinationId) return first.id - second.id
  return first.destinationId < second.destinationId ? -1 : 1
}
