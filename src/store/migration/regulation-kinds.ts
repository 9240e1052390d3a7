import { RowKind } from './row-kind.ts'

/** Deletion requests with how far they are, and whose calls are dropped. */
export const regulationKinds: readonly RowKind[] = [
  new RowKind({
    name: 'regulations',
    title: 'regulations',
    key: ['number'],
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
      // Each engine walks in its own order: what it was at begins anew, and erases nothing twice.
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
    pageRows: 500,
  }),
  new RowKind({
    name: 'regulation_users',
    title: 'subjects',
    key: ['number', 'user_id'],
    columns: { number: 'bigint', user_id: 'text', place: 'integer' },
    foundBy: ['number', 'place'],
  }),
  new RowKind({
    name: 'regulation_left',
    title: 'deliveries left to erase',
    key: ['number', 'destination_id', 'delivery_id'],
    columns: { number: 'bigint', destination_id: 'text', delivery_id: 'bigint' },
  }),
  new RowKind({
    name: 'suppressions',
    title: 'suppressions',
    key: ['user_id', 'source_id'],
    columns: { user_id: 'text', source_id: 'text' },
    foundBy: ['user_id', 'source_id'],
  }),
]
