import type { DueTime, Share } from '../../delivery/index.ts'
import { lanes } from '../../model/index.ts'
import { claimedColumns } from '../log/logged-delivery.ts'
import type { Query } from '../sql.ts'
import type { ClaimFloors } from './claim-floors.ts'
import { GivenRows, type GivenColumns } from './given-rows.ts'
import { isFree, type LeaseTerm, type OwnLeases } from './leases.ts'

type LaneFrom = Pick<DueTime, 'destinationId' | 'lane'> & { readonly dueFromMs: number }

const laneColumns = {
  destination_id: ['text', ({ destinationId }) => destinationId],
  lane: ['text', ({ lane }) => lane],
  due_from: ['bigint', ({ dueFromMs }) => dueFromMs],
} satisfies GivenColumns<LaneFrom>

const givenShares = new GivenRows<Share & LaneFrom>('share', 8, {
  ...laneColumns,
  due_by: ['bigint', ({ dueByMs }) => dueByMs],
  deliveries_max: ['bigint', ({ deliveriesMax }) => deliveriesMax],
})

const givenLanes = new GivenRows<LaneFrom>('asked', 5, laneColumns)

/** Uses the parameters `$1` (the holder) to `$4`. */
const isFreeSql = isFree({ holder: 0, numbers: [], next: 0 }, 0).sql

/**
 * Takes a few rows per share from the index of pending deliveries, beginning at the lane's floor. The last limit
 * excludes nothing: it tells the planner how few rows there are.
 */
const claimSql = `
  WITH picked AS MATERIALIZED (
    SELECT due.destination_id, due.id, share.position
    FROM ${givenShares.sql} CROSS JOIN LATERAL (
      SELECT destination_id, id FROM evroute_deliveries
      WHERE destination_id = share.destination_id AND lane = share.lane AND state = 'pending'
        AND due_at BETWEEN share.due_from AND share.due_by AND ${isFreeSql}
      ORDER BY due_at, id LIMIT share.deliveries_max
      FOR UPDATE SKIP LOCKED) due
    LIMIT $7
  ), leased AS (
    UPDATE evroute_deliveries delivery
    SET lease_holder = $1, lease = $5, leased_until = $6
    FROM picked
    WHERE delivery.destination_id = picked.destination_id AND delivery.id = picked.id
    RETURNING delivery.*, picked.position
  )
  SELECT leased.destination_id AS "destinationId", leased.id, lane, ${claimedColumns}
  FROM leased LEFT JOIN evroute_messages message ON message.id = body_id
  ORDER BY position, due_at, leased.id`

const nextDueSql = `
  SELECT asked.destination_id AS "destinationId", asked.lane, due.due_at AS "dueAtMs"
  FROM ${givenLanes.sql} CROSS JOIN LATERAL (
    SELECT due_at FROM evroute_deliveries
    WHERE destination_id = asked.destination_id AND lane = asked.lane AND state = 'pending'
      AND due_at >= asked.due_from AND ${isFreeSql}
    ORDER BY due_at, id LIMIT 1) due`

interface ClaimTerms {
  readonly nowMs: number
  readonly own: OwnLeases
  readonly floors: ClaimFloors
}

/** Returns the statement that leases due deliveries. */
export function claimQuery(
  shares: readonly Share[],
  { nowMs, lease, own, floors }: ClaimTerms & { readonly lease: LeaseTerm },
): Query {
  const rows = shares.map((share) => ({ ...share, dueFromMs: floors.claimFrom(share) }))
  const deliveriesMax = shares.reduce((sum, share) => sum + share.deliveriesMax, 0)
  const { number, untilMs } = lease
  const leases = [...isFree(own, nowMs).values, number, untilMs]
  const values = [...leases, deliveriesMax, ...givenShares.values(rows)]
  return { name: 'claim', sql: claimSql, values }
}

/** Returns the statement that finds when the first delivery in each lane of these destinations is due. */
export function nextDueQuery(
  destinationIds: readonly string[],
  { nowMs, own, floors }: ClaimTerms,
): Query {
  const asked = destinationIds.flatMap((destinationId) =>
    lanes.map((lane) => {
      const dueFromMs = floors.lookFrom({ destinationId, lane })
      return { destinationId, lane, dueFromMs }
    }),
  )
  const values = [...isFree(own, nowMs).values, ...givenLanes.values(asked)]
  return { name: 'next_due', sql: nextDueSql, values }
}
