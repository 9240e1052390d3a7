import type { EndedCounts } from '../../delivery/index.ts'
import { emptyLedger, type DeliveryLedger } from '../../model/index.ts'
import type { Session } from './database.ts'
import { toStored } from '../stored-text.ts'

type LedgerLine = keyof DeliveryLedger

/** A figure of the books, or of deliveries that were purged. */
export type CountName = LedgerLine | `purged_${keyof EndedCounts}`

/** Stands in the place of a destination where a figure is of the whole store. */
export const wholeStore = "''"

/**
 * In how many rows each figure is kept. A row is locked until the transaction that changed it is on the
 * disk: were it one, all writers of a destination would wait for one another. Each connection has its
 * row, so that those of one process are seldom in each other's way; the sum of the rows counts.
 */
const slots = 16

/**
 * The end of a statement: changes figures. They are locked last and in one order, so that nobody who
 * holds one waits for anything else.
 *
 * @param names - the figures that change
 * @param changes - a query for a `destination_id` and the differences under those names
 */
export function countChanges(names: readonly CountName[], changes: string): string {
  const columns = names.join(', ')
  const sums = names.map((name) => `${name} = counts.${name} + excluded.${name}`).join(', ')
  return `
    INSERT INTO evroute_counts AS counts (destination_id, slot, ${columns})
    SELECT destination_id, pg_backend_pid() % ${slots}, ${columns} FROM (${changes}) changes
    ORDER BY destination_id
    ON CONFLICT (destination_id, slot) DO UPDATE SET ${sums}`
}

/** A query for every destination that ever had deliveries, as `destination_id`. */
export const allDestinations: string = `
  SELECT destination_id FROM evroute_counts WHERE destination_id <> ${wholeStore}
  GROUP BY destination_id`

const ledgerLines = Object.keys(emptyLedger) as readonly LedgerLine[]

/** Columns with the sums of the ledger's lines. */
export const ledgerSums: string = sums(ledgerLines)

/** Columns with the sums of what was purged. */
export const purgedSums: string = sums(['purged_delivered', 'purged_failed', 'purged_expired'])

/** The ledger out of a row that has {@link ledgerSums}. */
export function ledgerOf(row: Readonly<Record<string, unknown>>): DeliveryLedger {
  const lines = ledgerLines.map((name) => [name, Number(row[name])] as const)
  return { ...emptyLedger, ...Object.fromEntries(lines) }
}

/** The books as they were committed: of the deliveries to one destination, or of all. */
export async function readLedger(
  database: Session,
  destinationId: string | undefined,
): Promise<DeliveryLedger> {
  // A row has figures either of the whole store or of a destination.
  const of = destinationId === undefined ? '' : `WHERE destination_id IN (${wholeStore}, $1)`
  const values = destinationId === undefined ? [] : [toStored(destinationId)]
  const name = destinationId === undefined ? 'ledger' : 'ledger_of_destination'
  const sql = `SELECT ${ledgerSums} FROM evroute_counts ${of}`
  const [row] = await database.rows<Record<string, unknown>>({ name, sql, values })
  return ledgerOf(row ?? {})
}

function sums(names: readonly CountName[]): string {
  return names.map((name) => `coalesce(sum(${name}), 0)::bigint AS ${name}`).join(', ')
}
