import { RowKind } from './row-kind.ts'

/** Audiences, and who is in them. */
export const audienceKinds: readonly RowKind[] = [
  new RowKind({
    name: 'audiences',
    title: 'audiences',
    key: ['id'],
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
  new RowKind({
    name: 'members',
    title: 'members',
    key: ['audience_id', 'user_key', 'member_key'],
    columns: {
      audience_id: 'bigint',
      user_key: ['bytea', "'\\x' || lower(hex(user_key))"],
      member_key: ['bytea', "'\\x' || lower(hex(member_key))"],
      number: 'bigint',
      user_id: 'text',
      anonymous_id: 'text',
      email: 'text',
      value: 'text',
    },
  }),
]
