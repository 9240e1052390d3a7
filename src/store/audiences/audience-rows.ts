import type {
  Audience,
  AudienceReader,
  Member,
  MemberIdentity,
  MembersRequest,
} from '../../audience/index.ts'
import { firstRow, raw, rowsOf, sql, type Dialect, type Script, type SqlDatabase } from '../sql.ts'
import { fromStoredRow, toStored } from '../stored-text.ts'

/** An audience with its key in the database. */
export interface AudienceRow extends Audience {
  readonly id: number
}

interface MemberRow extends MemberIdentity {
  readonly number: number
  readonly value: string
}

/** The columns of an {@link Audience}, with its texts in their stored form. */
export const audienceColumns = raw(`key, name, class AS "computationClass",
  computation_id AS "computationId", source_id AS "sourceId", members, created_at AS "createdAtMs",
  synced_at AS "syncedAtMs"`)

/** Reads audiences and their members, with the same SQL in both engines. */
export class AudienceRows implements AudienceReader {
  readonly #database: SqlDatabase

  constructor(database: SqlDatabase) {
    this.#database = database
  }

  async list(): Promise<readonly Audience[]> {
    const query = sql`SELECT ${audienceColumns} FROM evroute_audiences`
    const rows = await this.#database.read(() => rowsOf<Audience>(query))
    // Sort here, because engines order some keys differently.
    return rows.map(fromStoredRow).toSorted((a, b) => (a.key < b.key ? -1 : 1))
  }

  members({ key, after, limit }: MembersRequest): Promise<readonly Member[]> {
    const { dialect } = this.#database
    return this.#database.read(function* () {
      const row = yield* findAudience(key)
      if (row === undefined) return []
      const page = yield* memberPage({ audienceId: row.id, after, rowsMax: limit }, dialect)
      return page.map((member) => ({ identity: identityOf(member), value: member.value }))
    })
  }
}

/** Finds an audience, without locking its row. */
export function* findAudience(key: string): Script<AudienceRow | undefined> {
  const row = yield* firstRow<AudienceRow>(
    sql`SELECT id, ${audienceColumns} FROM evroute_audiences WHERE key = ${toStored(key)}`,
  )
  return row && fromStoredRow(row)
}

/** Reads a page of an audience's members in the order of their keys; `after` is null for the first page. */
export function* memberPage(
  request: {
    readonly audienceId: number
    readonly after: MemberIdentity | null
    readonly rowsMax: number
  },
  dialect: Dialect,
): Script<readonly MemberRow[]> {
  const { audienceId, after, rowsMax } = request
  // Empty keys sort before all others.
  const keys = after === null ? { user_key: '', member_key: '' } : keysOf(after, dialect)
  const rows = yield* rowsOf<MemberRow>(sql`
    SELECT user_id AS "userId", anonymous_id AS "anonymousId", email, number, value FROM evroute_members
    WHERE audience_id = ${audienceId}
      AND (user_key, member_key) > (${dialect.key(sql`${keys.user_key}`)}, ${dialect.key(sql`${keys.member_key}`)})
    ORDER BY user_key, member_key LIMIT ${rowsMax}`)
  return rows.map(fromStoredRow)
}

/** Returns the identifiers in a row. */
export function identityOf({ userId, anonymousId, email }: MemberRow): MemberIdentity {
  return { userId, anonymousId, email }
}

/** Results of {@link Dialect.keyOf}. */
export interface MemberKeys {
  readonly user_key: string
  readonly member_key: string
}

/** Returns the keys under which a member is stored. */
export function keysOf(identity: MemberIdentity, { keyOf }: Dialect): MemberKeys {
  return { user_key: keyOf(userText(identity)), member_key: keyOf(memberText(identity)) }
}

/** Returns the text that identifies a user: by the userId, otherwise by the anonymousId. */
export function userText({ userId, anonymousId }: Omit<MemberIdentity, 'email'>): string {
  return JSON.stringify(userId === null ? [null, anonymousId] : [userId])
}

/** Returns the text that identifies a member: by all of its identifiers. */
export function memberText({ userId, anonymousId, email }: MemberIdentity): string {
  return JSON.stringify([userId, anonymousId, email])
}
