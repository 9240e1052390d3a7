import { memberKey, userKey } from '../postgres/audience-identity.ts'
import { identityOf } from '../sqlite/audience-identity.ts'
import { toStoredOrNull } from '../stored-text.ts'
import { RowKind, type Row } from './row-kind.ts'

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
    key: ['audience_id', 'user_id', 'anonymous_id', 'email'],
    columns: {
      audience_id: 'bigint',
      user_key: ['bytea', 'NULL'],
      member_key: ['bytea', 'NULL'],
      number: 'bigint',
      user_id: 'text',
      anonymous_id: 'text',
      email: 'text',
      value: 'text',
    },
    convert: memberRow,
    foundBy: ['audience_id', 'user_key', 'member_key'],
  }),
]

/** An identifier that is absent stands as '' in SQLite; a digest of all of them is the key in PostgreSQL. */
function memberRow(row: Row): Row {
  const { user_id: userId, anonymous_id: anonymousId, email } = row
  const identity = identityOf({
    user_id: String(userId),
    anonymous_id: String(anonymousId),
    email: String(email),
  })
  return {
    ...row,
    user_key: `\\x${userKey(identity)}`,
    member_key: `\\x${memberKey(identity)}`,
    user_id: toStoredOrNull(identity.userId),
    anonymous_id: toStoredOrNull(identity.anonymousId),
    email: toStoredOrNull(identity.email),
  }
}
