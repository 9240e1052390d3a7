import type { Settlement } from '../../delivery/index.ts'
import type { RequestRecord } from '../../model/index.ts'
import { firstTriesOf } from '../log/index.ts'
import { toStored, toStoredOrNull } from '../stored-text.ts'
import { countChanges } from './counts.ts'
import type { Query } from '../sql/index.ts'

/** The settlements that took effect, by their places. */
export interface SettledRow {
  readonly places: readonly number[] | null
}

/** A statement that settles deliveries. */
export interface SettleQuery extends Query {
  /** The settlements that took effect, out of its answer. */
  readonly settlementsOf: (rows: readonly SettledRow[]) => readonly Settlement[]
}

/** The changes of a settlement to a row; null leaves a column as it is, or empty. */
interface Change {
  readonly attempts?: number
  readonly reason?: string | null
  readonly dueAtMs?: number
  readonly expiresAtMs?: number
  readonly windowAttempts?: number
  readonly firstAttemptAtMs?: number | null
  readonly holds?: string
}

const counted = countChanges(
  ['pending', 'delivered', 'failed', 'expired'],
  `SELECT destination_id, -count(*) AS pending,
     count(*) FILTER (WHERE state = 'delivered') AS delivered,
     count(*) FILTER (WHERE state = 'failed') AS failed,
     count(*) FILTER (WHERE state = 'expired') AS expired
   FROM settled WHERE state <> 'pending' GROUP BY destination_id`,
)

/**
 * Only leases that this process still holds: a process that leased the delivery later has another
 * number. A leased row is always pending. The statement does not ask for that, because the planner
 * might then read all pending rows. A delivery also counts as delivered if another process has leased
 * it since, as long as no settlement changed its state or counted a round: its receiver has it. The
 * time it was accepted tells it from a row that got the same id after a backup was restored.
 */
const settled = `
  UPDATE evroute_deliveries delivery SET
    state = CASE WHEN given.kind IN ('retry', 'returned') THEN 'pending' ELSE given.kind END,
    lane = CASE WHEN given.kind = 'retry' THEN 'retry' ELSE delivery.lane END,
    settled_at = CASE WHEN given.kind IN ('retry', 'returned') THEN NULL ELSE $1::bigint END,
    reason = given.reason,
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
  RETURNING delivery.destination_id, delivery.id, delivery.state, delivery.is_erased, given.place`

/**
 * The deliveries of requests without a settlement that counts, for example after a lost lease. They
 * are locked, so that none is purged or erased before its requests are written.
 */
const late = `
  SELECT delivery.destination_id, delivery.id, delivery.is_erased
  FROM (SELECT DISTINCT destination_id, delivery_id FROM request
    WHERE (destination_id, delivery_id) NOT IN (SELECT destination_id, id FROM settled)) missing
  JOIN evroute_deliveries delivery
    ON delivery.destination_id = missing.destination_id AND delivery.id = missing.delivery_id
  FOR KEY SHARE OF delivery`

/**
 * Requests of purged deliveries are not kept. Requests of erased deliveries are kept without their
 * answer.
 */
const logged = `
  INSERT INTO evroute_requests (written_at, destination_id, delivery_id, at, duration, attempt, status,
    lane, outcome, url, error, excerpt)
  SELECT $1, request.destination_id, delivery_id, at, duration, attempt, status, lane, outcome, url, error,
    CASE WHEN known.is_erased THEN '' ELSE excerpt END
  FROM request JOIN (
    SELECT destination_id, id, is_erased FROM settled UNION ALL SELECT * FROM late) known
    ON known.destination_id = request.destination_id AND known.id = request.delivery_id`

const given = `
  SELECT * FROM unnest($3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::int[], $8::text[], $9::bigint[],
      $10::bigint[], $11::int[], $12::bigint[], $13::text[], $25::int[], $26::bigint[],
      $27::text[], $28::bigint[], $29::float8[], $30::int[], $31::text[])
      WITH ORDINALITY
    AS given (destination_id, id, lease, kind, attempts, reason, due_at, expires_at, window_attempts,
      first_attempt_at, holds, attempts_before, accepted_at, try_url, try_at, try_duration, try_status,
      try_excerpt, place)`

/** Requests with rows of their own, and first tries whose settlement took no effect. */
const requests = `
  SELECT * FROM unnest($14::text[], $15::bigint[], $16::bigint[], $17::float8[], $18::int[], $19::int[],
      $20::text[], $21::text[], $22::text[], $23::text[], $24::text[])
    AS request (destination_id, delivery_id, at, duration, attempt, status, lane, outcome, url, error,
      excerpt)
  UNION ALL
  SELECT destination_id, id, try_at, try_duration, 1, try_status, 'first', 'success', try_url, NULL, try_excerpt
  FROM given WHERE try_at IS NOT NULL AND place NOT IN (SELECT place FROM settled)`

const sql = `
  WITH given AS MATERIALIZED (${given}), settled AS (${settled}),
  request AS MATERIALIZED (${requests}), late AS MATERIALIZED (${late}), logged AS (${logged}), counted AS (${counted})
  SELECT array_agg(place::int) AS places FROM settled`

/** Ends leases and writes requests to the log. */
export function settleQuery(batch: {
  readonly nowMs: number
  readonly holder: number
  readonly settlements: readonly Settlement[]
  readonly requests: readonly RequestRecord[]
}): SettleQuery {
  const { nowMs, holder } = batch
  const settlements = batch.settlements.toSorted(inOneOrder)
  const { succeeded, others } = firstTriesOf(settlements, batch.requests)
  const tries = settlements.map((settlement) => succeeded.get(settlement))
  const changes = settlements.map(changeOf)
  const values = [
    nowMs,
    holder,
    settlements.map(({ delivery }) => toStored(delivery.destinationId)),
    settlements.map(({ delivery }) => delivery.id),
    settlements.map(({ delivery }) => delivery.lease),
    settlements.map(({ kind }) => kind),
    changes.map(({ attempts }) => attempts ?? null),
    changes.map(({ reason }) => toStoredOrNull(reason ?? null)),
    changes.map(({ dueAtMs }) => dueAtMs ?? null),
    changes.map(({ expiresAtMs }) => expiresAtMs ?? null),
    changes.map(({ windowAttempts }) => windowAttempts ?? null),
    changes.map(({ firstAttemptAtMs }) => firstAttemptAtMs ?? null),
    changes.map(({ holds }) => holds ?? null),
    ...requestValues(others),
    settlements.map(({ delivery }) => delivery.attempts),
    settlements.map(({ delivery }) => delivery.acceptedAtMs),
    tries.map((request) => toStoredOrNull(request?.url ?? null)),
    tries.map((request) => request?.atMs ?? null),
    tries.map((request) => request?.durationMs ?? null),
    tries.map((request) => request?.status ?? null),
    tries.map((request) => toStoredOrNull(request?.excerpt ?? null)),
  ]
  const settlementsOf: SettleQuery['settlementsOf'] = ([row]) =>
    (row?.places ?? []).flatMap((place) => settlements[place - 1] ?? [])
  return { name: 'settle', sql, values, settlementsOf }
}

/** Rows are locked in the order of the settlements. */
function inOneOrder({ delivery: first }: Settlement, { delivery: second }: Settlement): number {
  if (first.destinationId === second.destinationId) return first.id - second.id
  return first.destinationId < second.destinationId ? -1 : 1
}

function changeOf(settlement: Settlement): Change {
  switch (settlement.kind) {
    case 'delivered':
      return { attempts: settlement.attempts }
    case 'failed':
    case 'expired':
      return { attempts: settlement.attempts, reason: settlement.reason }
    case 'retry': {
      const { dueAtMs, expiresAtMs, progress } = settlement
      return { ...progress, dueAtMs, expiresAtMs, holds: JSON.stringify(progress.holds) }
    }
    case 'returned':
      return { dueAtMs: settlement.dueAtMs }
  }
}

function requestValues(requests: readonly RequestRecord[]): Query['values'] {
  return [
    requests.map(({ destinationId }) => toStored(destinationId)),
    requests.map(({ deliveryId }) => deliveryId),
    requests.map(({ atMs }) => atMs),
    requests.map(({ durationMs }) => durationMs),
    requests.map(({ attempt }) => attempt),
    requests.map(({ status }) => status),
    requests.map(({ lane }) => lane),
    requests.map(({ outcome }) => outcome),
    requests.map(({ url }) => toStored(url)),
    requests.map(({ error }) => toStoredOrNull(error)),
    requests.map(({ excerpt }) => toStored(excerpt)),
  ]
}
