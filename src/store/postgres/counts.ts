import type { DestinationCounts, EndedCounts, LoggedState } from '../../delivery/index.ts'
import { emptyLedger, type DeliveryLedger } from '../../model/index.ts'
import type { CountChanges } from '../log/log-changes.ts'
import { raw, run, sql } from '../sql.ts'
import type { Session } from './database.ts'
import { dialect } from './dialect.ts'
import { fromStoredRow, toStored } from '../stored-text.ts'

type LedgerLine = keyof DeliveryLedger

type CountName = LedgerLine | `purged_${keyof EndedCounts}`

/** The `destination_id` of the counts for the whole store, as SQL. */
export const wholeStore = "''"

/**
 * Number of rows that add up to a count. A transaction locks one until its commit is on disk. With a single row,
 * all writers to a destination would wait for one another.
 */
const slots = 16

/**
 * Returns an INSERT that changes counts, for the end of a statement. All transactions lock counts last and in the same
 * order, so they cannot deadlock.
 */
export function changeCounts(names: readonly CountName[], changes: string): string {
  const columns = names.join(', ')
  const sums = names.map((name) => `${name} = counts.${name} + excluded.${name}`).join(', ')
  return `
    INSERT INTO evroute_counts AS counts (destination_id, slot, ${columns})
    SELECT destination_id, pg_backend_pid() % ${slots}, ${columns} FROM (${changes}) changes
    ORDER BY destination_id
    ON CONFLICT (destination_id, slot) DO UPDATE SET ${sums}`
}

/**
 * Like {@link changeCounts}, but computes the changes from the rows of each destination.
 *
 * @param changes - the aggregate for each count
 * @param rows - the text after FROM
 */
export function countRows(
  changes: Readonly<Partial<Record<CountName, string>>>,
  rows: string,
): string {
  const names = Object.keys(changes) as CountName[]
  const columns = names.map((name) => `${changes[name]} AS ${name}`).join(', ')
  return changeCounts(
    names,
    `SELECT destination_id, ${columns} FROM ${rows} GROUP BY destination_id`,
  )
}

/** Does not change the count of `delivered`. So neither the rows nor `after` may have that state. */
export const countChanges: CountChanges = (rows, after) => {
  const changeOf = (state: LoggedState): string =>
    `${after === state ? 'count(*)' : '0'} - ${inState(state)}`
  const [pending, failed, expired] = [changeOf('pending'), changeOf('failed'), changeOf('expired')]
  const given = dialect.given(rows, { destination_id: 'text', state: 'text' })
  return run(sql`WITH changed AS (SELECT given.destination_id, given.state FROM ${given})
    ${raw(countRows({ pending, failed, expired }, 'changed'))}`)
}

/** Returns an aggregate that counts the rows in a state. */
export function inState(state: LoggedState): string {
  return `count(*) FILTER (WHERE state = '${state}')`
}

const deliveryLines = ['deliveries', 'delivered', 'failed', 'expired', 'pending'] as const

/** The columns of a SELECT that sums up the lines of a {@link DeliveryLedger}. */
export const ledgerSums: string = sums(Object.keys(emptyLedger))

/** The columns of a SELECT that sums up the purged deliveries, by state. */
export const purgedSums: string = sums(['delivered', 'failed', 'expired'], 'purged_')

/** Reads the committed ledger of one destination, or of the whole store. */
export async function readLedger(
  database: Session,
  destinationId: string | undefined,
): Promise<DeliveryLedger> {
  // Rows of the whole store and of destinations use different columns, so one query can sum both.
  const sql = `SELECT ${ledgerSums} FROM evroute_counts
    WHERE $1::text IS NULL OR destination_id IN (${wholeStore}, $1)`
  const values = [destinationId === undefined ? null : toStored(destinationId)]
  const [ledger] = await database.rows<DeliveryLedger>({ name: 'ledger', sql, values })
  return ledger ?? emptyLedger
}

/** Reads the committed counts of all destinations. */
export async function readDestinationCounts(
  database: Session,
): Promise<readonly DestinationCounts[]> {
  const rows = await database.rows<DestinationCounts>(sql`
    SELECT destination_id AS "destinationId", ${raw(sums(deliveryLines))} FROM evroute_counts
    WHERE destination_id <> ${raw(wholeStore)}
    GROUP BY destination_id ORDER BY destination_id COLLATE "C"`)
  return rows.map(fromStoredRow)
}

function sums(names: readonly string[], prefix = ''): string {
  return names.map((name) => `coalesce(sum(${prefix}${name}), 0)::bigint AS ${name}`).join(', ')
}
