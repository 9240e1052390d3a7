import type { LoggedState } from '../../delivery/index.ts'
import { emptyLedger, type DeliveryLedger } from '../../model/index.ts'
import { firstRow, rowsOf, type Script } from '../sql.ts'
import { fromStored } from '../stored-text.ts'

/** A row, with the column names of PostgreSQL. */
export type Row = Readonly<Record<string, string | number | null>>

/** A table that moves. Columns that only PostgreSQL has, and that cannot be computed, are null after the move. */
export interface MovedTable {
  /** Its name in SQLite; in PostgreSQL it has the prefix `evroute_`. */
  readonly name: string
  /** The name of its rows in messages to people, such as `deliveries`. */
  readonly title: string
  /** The text after FROM that reads its rows in SQLite; its name by default. */
  readonly source?: string
  /** Columns of PostgreSQL that SQLite lacks or has in a different form, each with its expression in SQLite. */
  readonly computed?: Readonly<Record<string, string>>
  /** The sequence that makes its ids in PostgreSQL, and the column for them. */
  readonly sequence?: readonly [string, string]
  /** Rows per INSERT, fewer for long rows; 2,000 by default. */
  readonly rowsAtOnce?: number
}

/** PostgreSQL's columns of counts. SQLite has a row for each count: the expression of a column sums its rows. */
const countColumns = [
  ...Object.keys(emptyLedger),
  'purged_delivered',
  'purged_failed',
  'purged_expired',
].map((name) => [name, `coalesce(sum(count) FILTER (WHERE name = '${name}'), 0)`] as const)

/** An erased delivery has an empty body and no user. SQLite has no other mark for it. */
const isErased = `state <> 'pending' AND user_id IS NULL
  AND EXISTS (SELECT 1 FROM messages WHERE messages.id = body_id AND body = '')`

/** The tables of a store, in the order of the move. */
export const movedTables: readonly MovedTable[] = [
  {
    name: 'messages',
    title: 'bodies',
    // A row with a negative id is left over from a probe of writability.
    source: 'messages WHERE id >= 0',
    sequence: ['evroute_message_ids', 'id'],
    rowsAtOnce: 500,
  },
  {
    name: 'deliveries',
    title: 'deliveries',
    computed: { is_erased: isErased },
    sequence: ['evroute_delivery_ids', 'id'],
  },
  {
    name: 'requests',
    title: 'requests',
    computed: {
      destination_id: '(SELECT destination_id FROM deliveries d WHERE d.id = delivery_id)',
      written_at: 'CAST(round(at + duration) AS INTEGER)',
    },
    sequence: ['evroute_request_ids', 'id'],
    rowsAtOnce: 1_000,
  },
  { name: 'seen', title: 'messageIds' },
  {
    name: 'counts',
    title: 'figures',
    source: 'counts GROUP BY destination_id',
    computed: { slot: '0', ...Object.fromEntries(countColumns) },
  },
  { name: 'audiences', title: 'audiences', sequence: ['evroute_audiences_id_seq', 'id'] },
  {
    name: 'members',
    title: 'members',
    computed: { user_key: 'key_digest(user_key)', member_key: 'key_digest(member_key)' },
  },
  {
    name: 'regulations',
    title: 'regulations',
    sequence: ['evroute_regulations_number_seq', 'number'],
    rowsAtOnce: 500,
  },
  { name: 'regulation_users', title: 'subjects' },
  { name: 'regulation_left', title: 'deliveries left to erase' },
  { name: 'suppressions', title: 'suppressions' },
]

interface StateCount {
  readonly destinationId: string
  readonly state: LoggedState
  readonly deliveries: number
}

/** The counts of a store's rows, and its ledger. */
export interface StoreFigures {
  /** The number of rows of each kind. */
  readonly kinds: Readonly<Record<string, number>>
  /** The deliveries of each destination in each state. */
  readonly states: readonly StateCount[]
  /** The totals since the store was created. */
  readonly ledger: DeliveryLedger
}

/** @param sourceOf - returns the text after FROM that reads a table's rows */
export function* countsOf(
  sourceOf: (table: MovedTable) => string,
): Script<Omit<StoreFigures, 'ledger'>> {
  const counts = movedTables.map((table) => {
    return `(SELECT count(*) FROM (SELECT 1 FROM ${sourceOf(table)}) AS counted) AS "${table.title}"`
  })
  const sql = `SELECT ${counts.join(', ')}`
  const kinds = yield* firstRow<StoreFigures['kinds']>({ sql, values: [] })
  const states = yield* rowsOf<StateCount>({
    sql: `SELECT destination_id AS "destinationId", state, count(*) AS deliveries
      FROM evroute_deliveries GROUP BY destination_id, state ORDER BY destination_id, state`,
    values: [],
  })
  return {
    kinds: { ...kinds },
    states: states.map((count) => ({ ...count, destinationId: fromStored(count.destinationId) })),
  }
}

/** A count in both stores. */
export interface ComparedFigure {
  readonly what: string
  readonly source: number
  readonly target: number
}

/** Puts the counts of both stores side by side; a missing one is 0. */
export function compareFigures(
  source: StoreFigures,
  target: StoreFigures,
): readonly ComparedFigure[] {
  const [ofSource, ofTarget] = [namedFigures(source), namedFigures(target)]
  return Object.keys({ ...ofSource, ...ofTarget }).map((what) => {
    return { what, source: ofSource[what] ?? 0, target: ofTarget[what] ?? 0 }
  })
}

function namedFigures({ kinds, states, ledger }: StoreFigures): StoreFigures['kinds'] {
  return Object.fromEntries([
    ...Object.entries(kinds),
    ...states.map((count) => [`${count.destinationId} ${count.state}`, count.deliveries] as const),
    ...Object.entries(ledger).map(([line, count]) => [`ledger ${line}`, count] as const),
  ])
}
