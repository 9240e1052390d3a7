import type { LoggedState } from '../../delivery/index.ts'
import { emptyLedger, type DeliveryLedger } from '../../model/index.ts'
import { firstRow, rowsOf, type Script } from '../sql.ts'
import { fromStored } from '../stored-text.ts'

/** How PostgreSQL types a column. */
export type ColumnType = 'text' | 'integer' | 'bigint' | 'double precision' | 'boolean' | 'bytea'

/** A column that moves. */
export interface MovedColumn {
  /** Its name in PostgreSQL. */
  readonly name: string
  /** Its type in PostgreSQL. */
  readonly type: ColumnType
  /** Its expression in SQLite: its name, if it is a column there. */
  readonly source: string
}

/** A table that moves. */
export interface MovedTable {
  /** Its name in SQLite; in PostgreSQL it has the prefix `evroute_`. */
  readonly name: string
  /** The name of its rows in messages. */
  readonly title: string
  /** Its columns. */
  readonly columns: readonly MovedColumn[]
  /** The source of its rows in SQLite. */
  readonly source: string
  /** The sequence of its ids, and their column. */
  readonly sequence: readonly [string, string] | undefined
  /** Rows in one statement: few if they can be long. */
  readonly rowsAtOnce: number
}

interface TableParts {
  readonly title: string
  /** The names and types of the columns that both engines have. */
  readonly columns: string
  /** Other columns: the type, and the expression in SQLite. */
  readonly computed?: Readonly<Record<string, readonly [ColumnType, string]>>
  readonly source?: string
  readonly sequence?: readonly [string, string]
  readonly rowsAtOnce?: number
}

function table(name: string, { columns, computed = {}, ...parts }: TableParts): MovedTable {
  const same = columns.split(',').map((column): MovedColumn => {
    const [, columnName = '', type = ''] = /^(\S+) (.+)$/.exec(column.trim()) ?? []
    return { name: columnName, type: type as ColumnType, source: columnName }
  })
  const others = Object.entries(computed).map(([other, [type, source]]) => {
    return { name: other, type, source }
  })
  return {
    name,
    source: name,
    sequence: undefined,
    rowsAtOnce: 2_000,
    ...parts,
    columns: [...same, ...others],
  }
}

/** The figures of the ledger: rows in SQLite, columns in PostgreSQL. */
const figures = [...Object.keys(emptyLedger), 'purged_delivered', 'purged_failed', 'purged_expired']

const figureSums = figures.map(
  (name) => `coalesce(sum(count) FILTER (WHERE name = '${name}'), 0) AS ${name}`,
)

/** An erased delivery has no text and no user. SQLite has no other mark for it. */
const isErased = `state <> 'pending' AND user_id IS NULL
  AND EXISTS (SELECT 1 FROM messages WHERE messages.id = body_id AND body = '')`

interface StateRow {
  readonly destination_id: string
  readonly state: StateCount['state']
  readonly deliveries: number
}

/** The tables of a store with the columns that both engines have, in the order of the move. */
export const movedTables: readonly MovedTable[] = [
  table('messages', {
    title: 'bodies',
    columns: 'id bigint, deliveries integer, body text',
    // A row below zero is left from a probe of writability.
    source: '(SELECT * FROM messages WHERE id >= 0)',
    sequence: ['evroute_message_ids', 'id'],
    rowsAtOnce: 500,
  }),
  table('deliveries', {
    title: 'deliveries',
    columns: `destination_id text, id bigint, body_id bigint, accepted_at bigint, due_at bigint,
      first_attempt_at bigint, expires_at bigint, settled_at bigint, attempts integer,
      window_attempts integer, manual_retries integer, source_id text, message_id text, type text,
      user_id text, previous_id text, state text, lane text, holds text, reason text, try_url text,
      try_at bigint, try_duration double precision, try_status integer, try_excerpt text`,
    computed: { is_erased: ['boolean', isErased] },
    sequence: ['evroute_delivery_ids', 'id'],
  }),
  table('requests', {
    title: 'requests',
    columns: `delivery_id bigint, id bigint, at bigint, duration double precision, attempt integer,
      status integer, lane text, outcome text, url text, error text, excerpt text`,
    computed: {
      destination_id: [
        'text',
        '(SELECT destination_id FROM deliveries d WHERE d.id = delivery_id)',
      ],
      written_at: ['bigint', 'CAST(round(at + duration) AS INTEGER)'],
    },
    sequence: ['evroute_request_ids', 'id'],
    rowsAtOnce: 1_000,
  }),
  table('seen', {
    title: 'messageIds',
    columns: 'source_id text, message_id text, seen_at bigint',
  }),
  table('counts', {
    title: 'figures',
    columns: ['destination_id text', ...figures.map((name) => `${name} bigint`)].join(', '),
    computed: { slot: ['integer', '0'] },
    source: `(SELECT destination_id, ${figureSums.join(', ')} FROM counts GROUP BY destination_id)`,
  }),
  table('audiences', {
    title: 'audiences',
    columns: `id bigint, key text, name text, class text, computation_id text, source_id text,
      members bigint, numbers bigint, created_at bigint, synced_at bigint`,
    sequence: ['evroute_audiences_id_seq', 'id'],
  }),
  table('members', {
    title: 'members',
    columns: `audience_id bigint, number bigint, user_id text, anonymous_id text, email text, value text`,
    computed: {
      user_key: ['bytea', 'key_digest(user_key)'],
      member_key: ['bytea', 'key_digest(member_key)'],
    },
  }),
  table('regulations', {
    title: 'regulations',
    columns: `number bigint, id text, type text, source_ids text, created_at bigint,
      finished_at bigint, last_id bigint, last_notification_id bigint, stage text,
      is_store_erased boolean, erased_pending bigint, erased_settled bigint, erased_members bigint,
      archive text, streams text`,
    // Engines walk in different orders, so the stage begins again. It erases nothing twice.
    computed: { at_key: ['text', "''"], at_id: ['bigint', '0'] },
    sequence: ['evroute_regulations_number_seq', 'number'],
    rowsAtOnce: 500,
  }),
  table('regulation_users', {
    title: 'subjects',
    columns: 'number bigint, user_id text, place integer',
  }),
  table('regulation_left', {
    title: 'deliveries left to erase',
    columns: 'number bigint, destination_id text, delivery_id bigint',
  }),
  table('suppressions', {
    title: 'suppressions',
    columns: 'user_id text, source_id text',
  }),
]

/**
 * Returns a sum for each column of a table: of its numbers, or of the lengths of its texts. The sums of both
 * stores differ if a row did not arrive unchanged.
 *
 * @param expressionOf - the expression of a column
 */
function columnSums(
  { columns }: MovedTable,
  expressionOf: (column: MovedColumn) => string,
): string {
  return columns
    .map((column) => `coalesce(sum(${sumOf(column, expressionOf(column))}), 0) AS ${column.name}`)
    .join(', ')
}

/** So small that the sum of 1,000 million remainders is exact. */
const modulus = 1_000_003

function sumOf({ type }: MovedColumn, expression: string): string {
  switch (type) {
    case 'integer':
    case 'bigint':
      return `(${expression}) % ${modulus}`
    case 'double precision':
      return `CAST(floor(${expression}) AS bigint) % ${modulus}`
    case 'boolean':
      return `CASE WHEN ${expression} THEN 1 ELSE 0 END`
    case 'text':
      return `octet_length(${expression})`
    case 'bytea':
      // SQLite has these as longer texts, so they are only counted.
      return `CASE WHEN ${expression} IS NULL THEN 0 ELSE 1 END`
  }
}

/** Where an engine has the rows and columns of a move. */
export interface Side {
  /** The source of the rows of a table. */
  readonly rows: (table: MovedTable) => string
  /** The expression of a column. */
  readonly column: (column: MovedColumn) => string
}

/** Counts the rows of each kind, and the deliveries of each destination in each state. */
export function* countsOf({ rows }: Side): Script<Omit<StoreFigures, 'ledger'>> {
  const counts: RowCount[] = []
  for (const table of movedTables) {
    const sql = `SELECT count(*) AS count FROM ${rows(table)}`
    const row = yield* firstRow<{ readonly count: number }>({ sql, values: [] })
    counts.push({ title: table.title, rows: row?.count ?? 0 })
  }
  const states = yield* rowsOf<StateRow>({
    sql: `SELECT destination_id, state, count(*) AS deliveries FROM evroute_deliveries
      GROUP BY destination_id, state ORDER BY destination_id, state`,
    values: [],
  })
  return {
    rows: counts,
    states: states.map(({ destination_id: id, ...count }) => {
      return { destinationId: fromStored(id), ...count }
    }),
  }
}

/** Sums up each column of each table. */
export function* sumsOf({ rows, column }: Side): Script<TableSums> {
  const sums: Record<string, number>[] = []
  for (const table of movedTables) {
    const sql = `SELECT ${columnSums(table, column)} FROM ${rows(table)}`
    const row = yield* firstRow<Record<string, unknown>>({ sql, values: [] })
    const lines = Object.entries(row ?? {}).map(([name, sum]) => [name, Number(sum)] as const)
    sums.push(Object.fromEntries(lines))
  }
  return sums
}

/** The number of rows of a kind. */
export interface RowCount {
  /** The name of the kind in messages. */
  readonly title: string
  /** How many. */
  readonly rows: number
}

/** The number of deliveries of a destination in a state. */
export interface StateCount {
  /** The destination. */
  readonly destinationId: string
  /** The state. */
  readonly state: LoggedState
  /** How many. */
  readonly deliveries: number
}

/** The figures of a store, counted row by row, and its ledger. */
export interface StoreFigures {
  /** Rows of each kind. */
  readonly rows: readonly RowCount[]
  /** Deliveries of each destination. */
  readonly states: readonly StateCount[]
  /** The ledger. */
  readonly ledger: DeliveryLedger
}

/** For each table of a move, a sum for each of its columns. */
export type TableSums = readonly Readonly<Record<string, number>>[]

/** A figure of both stores. */
export interface ComparedFigure {
  /** The name of the figure. */
  readonly what: string
  /** In the old store. */
  readonly source: number
  /** In the new store. */
  readonly target: number
}

/** Compares the figures of both stores. */
export function compareFigures(
  source: StoreFigures,
  target: StoreFigures,
): readonly ComparedFigure[] {
  const [ofSource, ofTarget] = [namedFigures(source), namedFigures(target)]
  const names = new Set([...ofSource.keys(), ...ofTarget.keys()])
  return [...names].map((what) => ({
    what,
    source: ofSource.get(what) ?? 0,
    target: ofTarget.get(what) ?? 0,
  }))
}

function namedFigures({ rows, states, ledger }: StoreFigures): ReadonlyMap<string, number> {
  return new Map([
    ...rows.map(({ title, rows: count }) => [title, count] as const),
    ...states.map(
      ({ destinationId, state, deliveries }) => [`${destinationId} ${state}`, deliveries] as const,
    ),
    ...Object.entries(ledger).map(([line, count]) => [`ledger ${line}`, count] as const),
  ])
}
