import { audienceKinds } from './audience-kinds.ts'
import { regulationKinds } from './regulation-kinds.ts'
import { RowKind } from './row-kind.ts'

/** The figures of the books, each a row of its own in SQLite and a column in PostgreSQL. */
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

/** A delivery that was erased has lost its text and whom it was about; SQLite does not note it otherwise. */
const isErased = `state <> 'pending' AND user_id IS NULL
  AND EXISTS (SELECT 1 FROM messages WHERE messages.id = body_id AND body = '')`

/**
 * Everything that a store keeps, in the order in which it moves: all columns of all tables, but for what
 * only one of the engines needs.
 */
export const rowKinds: readonly RowKind[] = [
  new RowKind({
    name: 'messages',
    title: 'bodies',
    key: ['id'],
    columns: { id: 'bigint', deliveries: 'integer', body: 'text' },
    // Below zero is what only shows that there is room for others.
    source: '(SELECT * FROM messages WHERE id >= 0)',
    sequence: ['evroute_message_ids', 'id'],
    pageRows: 500,
  }),
  new RowKind({
    name: 'deliveries',
    title: 'deliveries',
    key: ['id'],
    foundBy: ['destination_id', 'id'],
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
      is_erased: ['boolean', isErased],
    },
    sequence: ['evroute_delivery_ids', 'id'],
  }),
  new RowKind({
    name: 'requests',
    title: 'requests',
    key: ['delivery_id', 'id'],
    foundBy: ['destination_id', 'delivery_id', 'id'],
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
    pageRows: 1_000,
  }),
  new RowKind({
    name: 'seen',
    title: 'messageIds',
    key: ['source_id', 'message_id'],
    columns: { source_id: 'text', message_id: 'text', seen_at: 'bigint' },
  }),
  new RowKind({
    name: 'counts',
    title: 'figures',
    key: ['destination_id'],
    columns: {
      destination_id: 'text',
      slot: ['integer', '0'],
      ...Object.fromEntries(figures.map((name) => [name, 'bigint' as const])),
    },
    source: `(SELECT destination_id, ${figureSums.join(', ')} FROM counts GROUP BY destination_id)`,
  }),
  ...audienceKinds,
  ...regulationKinds,
]
