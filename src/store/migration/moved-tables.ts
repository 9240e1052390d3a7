import type { LoggedState } from '../../delivery/index.ts'
import { emptyLedger, type DeliveryLedger } from '../../model/index.ts'
import { firstRow, rowsOf, type Script } from '../sql.ts'
import { fromStored } from '../stored-text.ts'

/** A row, by the names that its columns have in PostgreSQL. */
export type Row = Readonly<Record<string, string | number | null>>

/** A column that moves. */
export interface MovedColumn {
  /** Its name in PostgreSQL. */
  readonly name: string
  /** Its type in PostgreSQL. */
  readonly type: string
  /** Its expression in SQLite: its name, if it is a column there. */
  readonly source: string
}

/** A table that moves. The move fills all columns in PostgreSQL that the file has or that can be computed. */
export interface MovedTable {
  /** Its name in SQLite; in PostgreSQL it has the prefix `evroute_`. */
  readonly name: string
  /** The name of its rows in messages. */
  readonly title: string
  /** The source of its rows in SQLite: the text after FROM. */
  readonly source: string
  /**
   * Columns of PostgreSQL that SQLite lacks or has in a different form, each with its expression in SQLite.
   */
  readonly computed: Readonly<Record<string, string>>
  /** The sequence of its ids, and their column. */
  readonly sequence: readonly [string, string] | undefined
  /** Rows in one statement: few if they can be long. */
  readonly rowsAtOnce: number
}

function table(name: string, title: string, parts: Partial<MovedTable> = {}): MovedTable {
  return {
    name,
    title,
    source: name,
    computed: {},
    sequence: undefined,
    rowsAtOnce: 2_000,
    ...parts,
  }
}

/** The figures of the ledger: rows in SQLite, columns in PostgreSQL. */
const figures = [...Object.keys(emptyLedger), 'purged_delivered', 'purged_failed', 'purged_expired']

const figureSums = figures.map(
  (name) => [name, `coalesce(sum(count) FILTER (WHERE name = '${name}'), 0)`] as const,
)

/** An erased delivery has an empty body and no user. SQLite has no other mark for it. */
const isErased = `state <> 'pending' AND user_id IS NULL
  AND EXISTS (SELECT 1 FROM messages WHERE messages.id = body_id AND body = '')`

/** The tables of a store, in the order of the move. */
export const movedTables: readonly MovedTable[] = [
  table('messages', 'bodies', {
    // A row with a negative id is left over from a probe of writability.
    source: 'messages WHERE id >= 0',
    sequence: ['evroute_message_ids', 'id'],
    rowsAtOnce: 500,
  }),
  table('deliveries', 'deliveries', {
    computed: { is_erased: isErased },
    sequence: ['evroute_delivery_ids', 'id'],
  }),
  table('requests', 'requests', {
    computed: {
      destination_id: '(SELECT destination_id FROM deliveries d WHERE d.id = delivery_id)',
      written_at: 'CAST(round(at + duration) AS INTEGER)',
    },
    sequence: ['evroute_request_ids', 'id'],
    rowsAtOnce: 1_000,
  }),
  table('seen', 'messageIds'),
  table('counts', 'figures', {
    source: 'counts GROUP BY destination_id',
    computed: { slot: '0', ...Object.fromEntries(figureSums) },
  }),
  table('audiences', 'audiences', { sequence: ['evroute_audiences_id_seq', 'id'] }),
  table('members', 'members', {
    computed: { user_key: 'key_digest(user_key)', member_key: 'key_digest(member_key)' },
  }),
  table('regulations', 'regulations', {
    sequence: ['evroute_regulations_number_seq', 'number'],
    rowsAtOnce: 500,
  }),
  table('regulation_users', 'subjects'),
  table('regulation_left', 'deliveries left to erase'),
  table('suppressions', 'suppressions'),
]

interface StateRow {
  readonly destination_id: string
  readonly state: StateCount['state']
  readonly deliveries: number
}

/**
 * Counts the rows of each kind, and the deliveries of each destination in each state.
 *
 * @param sourceOf - returns the source of the rows of a table: the text after FROM
 */
export function* countsOf(
  sourceOf: (table: MovedTable) => string,
): Script<Omit<StoreFigures, 'ledger'>> {
  const rows: RowCount[] = []
  for (const table of movedTables) {
    const sql = `SELECT count(*) AS count FROM (SELECT 1 FROM ${sourceOf(table)}) AS counted`
    const row = yield* firstRow<{ readonly count: number }>({ sql, values: [] })
    rows.push({ title: table.title, rows: row?.count ?? 0 })
  }
  const states = yield* rowsOf<StateRow>({
    sql: `SELECT destination_id, state, count(*) AS deliveries FROM evroute_deliveries
      GROUP BY destination_id, state ORDER BY destination_id, state`,
    values: [],
  })
  return {
    rows,
    states: states.map(({ destination_id: id, ...count }) => {
      return { destinationId: fromStored(id), ...count }
    }),
  }
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
