import type { Share } from '../../delivery/index.ts'
import { lanes, type EventType, type Lane } from '../../model/index.ts'
import { toStored } from '../stored-text.ts'
import type { ClaimPlaces } from './claim-places.ts'
import type { Query } from '../sql/index.ts'
import type { LeaseTerm } from './lease-term.ts'

/** A delivery that was leased. */
export interface ClaimedRow {
  readonly destination_id: string
  readonly id: number
  readonly message_id: string
  readonly type: EventType
  readonly lane: Lane
  readonly accepted_at: number
  readonly due_at: number
  readonly attempts: number
  readonly window_attempts: number
  readonly first_attempt_at: number | null
  readonly holds: string
  readonly body: string
}

/** When the first delivery of a lane is due. */
export interface DueRow {
  readonly destination_id: string
  readonly lane: Lane
  readonly due_at: number
}

/** The leases of this process, which do not end by time for itself. */
export interface OwnLeases {
  /** This process. */
  readonly holder: number
  /** The numbers of its leases. */
  readonly numbers: readonly number[]
  /** The numbers of leases whose answer was lost: no process sends those deliveries. */
  readonly lost: readonly number[]
}

/** Whether a delivery is free: it has no lease, or a lease of another process that has ended. */
export function isFree([now, holder, numbers]: readonly [string, string, string]): string {
  return `(leased_until IS NULL OR (leased_until <= ${now}::bigint
    AND NOT (lease_holder = ${holder}::bigint AND lease = ANY (${numbers}::bigint[]))))`
}

/**
 * Whether this process can lease a delivery: it is free, or this process leased it and never learned
 * so, because the answer was lost.
 *
 * @param parameters - the places of the values: now, the holder, the numbers, the lost numbers
 */
function isClaimable([now, holder, numbers, lost]: readonly [
  string,
  string,
  string,
  string,
]): string {
  return `(${isFree([now, holder, numbers])}
    OR (lease_holder = ${holder}::bigint AND lease = ANY (${lost}::bigint[])))`
}

/**
 * Takes a few rows of each share from the index of pending deliveries, oldest first, beginning at the
 * place of the share. It skips rows that others lock at this moment. The limit at the end removes
 * nothing: it tells the planner how few rows there are.
 */
const claimSql = `
  WITH picked AS MATERIALIZED (
    SELECT due.destination_id, due.id, share.place
    FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $12::bigint[])
      WITH ORDINALITY AS share (destination_id, lane, due_by, deliveries_max, due_from, place)
    CROSS JOIN LATERAL (
      SELECT destination_id, id FROM evroute_deliveries
      WHERE destination_id = share.destination_id AND lane = share.lane AND state = 'pending'
        AND due_at BETWEEN share.due_from AND share.due_by AND ${isClaimable(['$6', '$7', '$8', '$11'])}
      ORDER BY due_at, id LIMIT share.deliveries_max
      FOR UPDATE SKIP LOCKED) due
    LIMIT $5
  ), leased AS (
    UPDATE evroute_deliveries delivery
    SET lease_holder = $7, lease = $9, leased_until = $10
    FROM picked
    WHERE delivery.destination_id = picked.destination_id AND delivery.id = picked.id
    RETURNING delivery.*, picked.place
  )
  SELECT leased.destination_id, leased.id, message_id, type, lane, accepted_at, due_at, attempts,
    window_attempts, first_attempt_at, holds, message.body
  FROM leased JOIN evroute_messages message ON message.id = body_id
  ORDER BY place, due_at, leased.id`

const nextDueSql = `
  SELECT asked.destination_id, asked.lane, due.due_at
  FROM unnest($1::text[], $2::text[], $7::bigint[]) AS asked (destination_id, lane, due_from)
  CROSS JOIN LATERAL (
    SELECT due_at FROM evroute_deliveries
    WHERE destination_id = asked.destination_id AND lane = asked.lane AND state = 'pending'
      AND due_at >= asked.due_from AND ${isClaimable(['$3', '$4', '$5', '$6'])}
    ORDER BY due_at, id LIMIT 1) due`

/** Leases deliveries that are due. */
export function claimQuery(
  shares: readonly Share[],
  {
    nowMs,
    lease,
    own,
    places,
  }: { nowMs: number; lease: LeaseTerm; own: OwnLeases; places: ClaimPlaces },
): Query {
  const values = [
    shares.map(({ destinationId }) => toStored(destinationId)),
    shares.map(({ lane }) => lane),
    shares.map(({ dueByMs }) => dueByMs),
    shares.map(({ deliveriesMax }) => deliveriesMax),
    shares.reduce((sum, { deliveriesMax }) => sum + deliveriesMax, 0),
    nowMs,
    own.holder,
    own.numbers,
    lease.number,
    lease.untilMs,
    own.lost,
    shares.map((share) => places.claimFrom(share)),
  ]
  return { name: 'claim', sql: claimSql, values }
}

/** Finds when the first delivery of each lane of some destinations is due. */
export function nextDueQuery(
  destinationIds: readonly string[],
  { nowMs, own, places }: { nowMs: number; own: OwnLeases; places: ClaimPlaces },
): Query {
  const asked = destinationIds.flatMap((destinationId) =>
    lanes.map((lane) => ({ destinationId, lane })),
  )
  const values = [
    asked.map(({ destinationId }) => toStored(destinationId)),
    asked.map(({ lane }) => lane),
    nowMs,
    own.holder,
    own.numbers,
    own.lost,
    asked.map((lane) => places.lookFrom(lane)),
  ]
  return { name: 'next_due', sql: nextDueSql, values }
}
