import {
  erasableColumns,
  givenPlaces,
  placeColumns,
  type AskedNotifications,
  type CountedNotifications,
  type DeliveryPlace,
  type ErasableRow,
  type ErasureEngine,
  type HeldRow,
  type IdRange,
  type RegulationEngine,
} from '../regulations/regulation-engine.ts'
import { noteCleaned } from '../regulations/erasure-steps.ts'
import { firstRow, givenRows, rowsOf, run, type Script } from '../sql.ts'
import { allDestinations, countRows, wholeStore } from './counts.ts'
import type { Database } from './database.ts'
import { dialect } from './dialect.ts'
import { isFree, type OwnLeases } from './leases.ts'
import { reserveIds, seal, writeNotifications } from './regulation-notifications.ts'

const holdSql = `
  SELECT ${erasableColumns
    .split(', ')
    .map((column) => `delivery.${column}`)
    .join(', ')},
    state = 'pending' AND NOT ${isFree(['$2', '$3', '$4', '$5'])} AS "isLeased"
  FROM ${dialect.given('$1', placeColumns)}
  JOIN evroute_deliveries delivery
    ON delivery.destination_id = given.destination_id AND delivery.id = given.id
  ORDER BY delivery.destination_id, delivery.id
  FOR UPDATE OF delivery`

const forgetAnswersSql = `
  UPDATE evroute_requests request SET excerpt = ''
  FROM ${dialect.given('$1', placeColumns)}
  WHERE request.destination_id = given.destination_id AND request.delivery_id = given.id
    AND request.excerpt <> ''`

const countFailedSql = countRows(
  { pending: '-count(*)', failed: 'count(*)' },
  dialect.given('$1', { destination_id: 'text' }),
)

/** Counts the deliveries of notifications. No other deliveries have ids in these ranges. */
const countedSql = `
  SELECT given.number, given.destination_id, delivery.source_id, delivery.state, count(*)
  FROM ${dialect.given('$1', { number: 'bigint', destination_id: 'text', after_id: 'bigint', last_id: 'bigint' })}
  CROSS JOIN LATERAL (
    SELECT source_id, state FROM evroute_deliveries
    WHERE destination_id = given.destination_id AND id > given.after_id AND id <= given.last_id
    OFFSET 0) delivery
  GROUP BY given.number, given.destination_id, delivery.source_id, delivery.state`

const lookSql = `
  SELECT ${erasableColumns} FROM evroute_deliveries
  WHERE destination_id = $1 AND id > $2 AND id <= $3 ORDER BY id LIMIT $4`

const nextDestinationSql = `
  SELECT min(destination_id) AS id FROM evroute_counts
  WHERE destination_id > $1 AND destination_id <> ${wholeStore}`

/** Searches by primary key, because the index of pending deliveries is not ordered by id. */
const pendingSql = `
  SELECT 1 FROM (${allDestinations}) destination CROSS JOIN LATERAL (
    SELECT state FROM evroute_deliveries
    WHERE destination_id = destination.destination_id AND id > $1 AND id <= $2 OFFSET 0) delivery
  WHERE state = 'pending' LIMIT 1`

/** The tables with rows of users, largest first. */
const erasedTables = [
  'evroute_messages',
  'evroute_deliveries',
  'evroute_requests',
  'evroute_seen',
  'evroute_members',
]

/** The parts of a delivering process that an erasure needs. */
interface ErasureParts {
  readonly database: Database
  /** The leases of this process. */
  readonly ownLeases: () => OwnLeases
  readonly isReady: () => boolean
  readonly announce: () => void
}

/** Returns the engine that reads regulations in PostgreSQL. */
export function regulationEngine(database: Database): RegulationEngine {
  return { database, countNotifications }
}

/**
 * Returns the engine that erases users in PostgreSQL. A delivery that a dead process leased is free once its
 * lease has ended.
 *
 * PostgreSQL keeps erased rows in its files until VACUUM has cleaned their pages. At the end of an erasure
 * VACUUM runs for at most half a minute per table. If it is not permitted, or is not enough, autovacuum does
 * the rest later. Replicas, backups and archived WAL keep the rows until the operator deletes them.
 */
export function erasureEngine({
  database,
  ownLeases,
  isReady,
  announce,
}: ErasureParts): ErasureEngine {
  const engine = regulationEngine(database)
  return {
    ...engine,
    isReady,
    reserveIds,
    notify: writeNotifications,
    seal,
    announce,
    lookBehind,
    hasPending,
    hold: (places, nowMs) => hold(places, { nowMs, own: ownLeases() }),
    erasedColumns: ', is_erased = true, lease_holder = NULL, lease = NULL, leased_until = NULL',
    forgetAnswers: (places) =>
      run({ name: 'forget_answers', sql: forgetAnswersSql, values: [givenPlaces(places)] }),
    countFailed: (destinationIds) => {
      const rows = destinationIds.map((id) => ({ destination_id: id }))
      return run({ sql: countFailedSql, values: [givenRows(rows)] })
    },
    leaveNoTraces: async (number) => {
      for (const table of erasedTables) {
        const sql = `VACUUM (SKIP_LOCKED) ${table}`
        await database.rows({ sql, values: [] }).catch(() => undefined)
      }
      await database.change(() => noteCleaned(number))
      return 'done'
    },
  }
}

function hold(
  places: readonly DeliveryPlace[],
  { nowMs, own }: { readonly nowMs: number; readonly own: OwnLeases },
): Script<readonly HeldRow[]> {
  const values = [givenPlaces(places), nowMs, own.holder, own.numbers, own.next]
  return rowsOf<ErasableRow & HeldRow>({ name: 'hold_deliveries', sql: holdSql, values })
}

function countNotifications(
  asked: readonly AskedNotifications[],
): Script<readonly CountedNotifications[]> {
  const query = { name: 'count_notifications', sql: countedSql, values: [givenRows(asked)] }
  return rowsOf<CountedNotifications>(query)
}

/**
 * Returns the next deliveries after a place, all of one destination; none at the end of the walk. The walk
 * follows the primary key, because a regulation may name 5,000 users, and the index of users lacks ids that
 * an alias replaced.
 */
function* lookBehind(
  place: DeliveryPlace,
  { range, rowsMax }: { readonly range: IdRange; readonly rowsMax: number },
): Script<readonly ErasableRow[]> {
  const { afterId, lastId } = range
  let [destinationId, id]: [string | null, number] = [place.destination_id, place.id]
  while (destinationId !== null && afterId < lastId) {
    const values = [destinationId, Math.max(id, afterId), lastId, rowsMax]
    const rows = yield* rowsOf<ErasableRow>({ name: 'look_behind', sql: lookSql, values })
    if (rows.length > 0) return rows
    ;[destinationId, id] = [yield* destinationBehind(destinationId), 0]
  }
  return []
}

/** Tells whether a delivery of the range is still pending. */
function* hasPending({ afterId, lastId }: IdRange): Script<boolean> {
  if (afterId === lastId) return false
  const rows = yield* rowsOf({ sql: pendingSql, values: [afterId, lastId] })
  return rows.length > 0
}

function* destinationBehind(destinationId: string): Script<string | null> {
  const query = { name: 'destination_behind', sql: nextDestinationSql, values: [destinationId] }
  const row = yield* firstRow<{ readonly id: string | null }>(query)
  return row?.id ?? null
}
