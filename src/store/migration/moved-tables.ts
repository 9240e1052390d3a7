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
  readonly name: string
  readonly title: string
  readonly columns: Readonly<Record<string, ColumnType | readonly [ColumnType, string]>>
  readonly source?: string
  readonly sequence?: readonly [string, string]
  readonly rowsAtOnce?: number
}

function table({
  columns,
  source,
  sequence,
  rowsAtOnce = 2_000,
  ...names
}: TableParts): MovedTable {
  return {
    ...names,
    columns: Object.entries(columns).map(([name, given]) => {
      const [type, expression] = typeof given === 'string' ? [given, name] : given
      return { name, type, source: expression }
    }),
    source: source ?? names.name,
    sequence,
    rowsAtOnce,
  }
}

/** The figures of the ledger: rows in SQLite, columns in PostgreSQL. */
const figures = [
  'accepted',
  'routed',
  'filtered',
  'duplicate',
  'suppressed',
  'deliveries',
  'pending',
  'delivered',
  'failed',
  'expired',
  'purged_delivered',
  'purged_failed',
  'purged_expired',
]

const figureSums = figures.map(
  (name) => `coalesce(sum(count) FILTER (WHERE name = '${name}'), 0) AS ${name}`,
)

/** An erased delivery has no text and no user. SQLite has no other mark for it. */
const isErased = `state <> 'pending' AND user_id IS NULL
  AND EXISTS (SELECT 1 FROM messages WHERE messages.id = body_id AND body = '')`

/** The tables of a store with the columns that both engines have, in the order of the move. */
export const movedTables: readonly MovedTable[] = [
  table({
    name: 'messages',
    title: 'bodies',
    columns: { id: 'bigint', deliveries: 'integer', body: 'text' },
    // A row below zero is left from a probe of writability.
    source: '(SELECT * FROM messages WHERE id >= 0)',
    sequence: ['evroute_message_ids', 'id'],
    rowsAtOnce: 500,
  }),
  table({
    name: 'deliveries',
    title: 'deliveries',
    columns: {
      destination_id: 'text',
      id: 'bigint',
      body_id: 'bigint',
      accepted_at: 'bigint',
      due_at: 'bigint',
      first_attempt_at: 'bigint',
      expires_at: 'bigint',
      settled_at: 'bigint',
      attempts: 'integer',
      window_attempts: 'integer',
      manual_retries: 'integer',
      source_id: 'text',
      message_id: 'text',
      type: 'text',
      user_id: 'text',
      previous_id: 'text',
      state: 'text',
      lane: 'text',
      holds: 'text',
      reason: 'text',
      try_url: 'text',
      try_at: 'bigint',
      try_duration: 'double precision',
      try_status: 'integer',
      try_excerpt: 'text',
      is_erased: ['boolean', isErased],
    },
    sequence: ['evroute_delivery_ids', 'id'],
  }),
  table({
    name: 'requests',
    title: 'requests',
    columns: {
      destination_id: [
        'text',
        '(SELECT destination_id FROM deliveries d WHERE d.id = delivery_id)',
      ],
      delivery_id: 'bigint',
      id: 'bigint',
      written_at: ['bigint', 'CAST(round(at + duration) AS INTEGER)'],
      at: 'bigint',
      duration: 'double precision',
      attempt: 'integer',
      status: 'integer',
      lane: 'text',
      outcome: 'text',
      url: 'text',
      error: 'text',
      excerpt: 'text',
    },
    sequence: ['evroute_request_ids', 'id'],
    rowsAtOnce: 1_000,
  }),
  table({
    name: 'seen',
    title: 'messageIds',
    columns: { source_id: 'text', message_id: 'text', seen_at: 'bigint' },
  }),
  table({
    name: 'counts',
    title: 'figures',
    columns: {
      destination_id: 'text',
      slot: ['integer', '0'],
      ...Object.fromEntries(figures.map((name) => [name, 'bigint' as const])),
    },
    source: `(SELECT destination_id, ${figureSums.join(', ')} FROM counts GROUP BY destination_id)`,
  }),
  table({
    name: 'audiences',
    title: 'audiences',
    columns: {
      id: 'bigint',
      key: 'text',
      name: 'text',
      class: 'text',
      computation_id: 'text',
      source_id: 'text',
      members: 'bigint',
      numbers: 'bigint',
      created_at: 'bigint',
      synced_at: 'bigint',
    },
    sequence: ['evroute_audiences_id_seq', 'id'],
  }),
  table({
    name: 'members',
    title: 'members',
    columns: {
      audience_id: 'bigint',
      user_key: ['bytea', 'key_digest(user_key)'],
      member_key: ['bytea', 'key_digest(member_key)'],
      number: 'bigint',
      user_id: 'text',
      anonymous_id: 'text',
      email: 'text',
      value: 'text',
    },
  }),
  table({
    name: 'regulations',
    title: 'regulations',
    columns: {
      number: 'bigint',
      id: 'text',
      type: 'text',
      source_ids: 'text',
      created_at: 'bigint',
      finished_at: 'bigint',
      last_id: 'bigint',
      last_notification_id: 'bigint',
      stage: 'text',
      // Engines walk in different orders. The stage begins again, and erases nothing twice.
      at_key: ['text', "''"],
      at_id: ['bigint', '0'],
      is_store_erased: 'boolean',
      erased_pending: 'bigint',
      erased_settled: 'bigint',
      erased_members: 'bigint',
      archive: 'text',
      streams: 'text',
    },
    sequence: ['evroute_regulations_number_seq', 'number'],
    rowsAtOnce: 500,
  }),
  table({
    name: 'regulation_users',
    title: 'subjects',
    columns: { number: 'bigint', user_id: 'text', place: 'integer' },
  }),
  table({
    name: 'regulation_left',
    title: 'deliveries left to erase',
    columns: { number: 'bigint', destination_id: 'text', delivery_id: 'bigint' },
  }),
  table({
    name: 'suppressions',
    title: 'suppressions',
    columns: { user_id: 'text', source_id: 'text' },
  }),
]

/**
 * Columns with a sum for each column of a table: of numbers, or of the lengths of texts. The sums
 * differ if a row did not arrive unchanged.
 *
 * @param expressionOf - the expression of a column
 */
export function columnSums(
  { columns }: MovedTable,
  expressionOf: (column: MovedColumn) => string,
): string {
  return columns
    .map((column) => `coalesce(sum(${sumOf(column, expressionOf(column))}), 0) AS ${column.name}`)
    .join(', ')
}

/** So small that the sum of 1,000 million of them is exact. */
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
      // SQLite reads more digits of these, so they are only counted.
      return `CASE WHEN ${expression} IS NULL THEN 0 ELSE 1 END`
  }
}
