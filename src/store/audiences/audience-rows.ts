import type {
  Audience,
  AudienceReader,
  ComputationClass,
  Member,
  MemberIdentity,
  MembersRequest,
} from '../../audience/index.ts'
import { firstRow, raw, rowsOf, sql, type Dialect, type Script, type SqlDatabase } from '../sql.ts'
import { fromStored, fromStoredOrNull, toStored } from '../stored-text.ts'

/** A row of `audiences`. Texts are in their stored form. */
export interface AudienceRow {
  readonly id: number
  readonly key: string
  readonly name: string
  readonly class: ComputationClass
  readonly computation_id: string
  readonly source_id: string
  readonly members: number
  readonly numbers: number
  readonly created_at: number
  readonly synced_at: number | null
  readonly sync: number | null
}

interface MemberRow {
  readonly user_id: string | null
  readonly anonymous_id: string | null
  readonly email: string | null
  readonly number: number
  readonly value: string
}

/** The columns of an {@link AudienceRow}. Not `*`, because a newer version may have added columns. */
export const audienceColumns = raw(
  'id, key, name, class, computation_id, source_id, members, numbers, created_at, synced_at, sync',
)

/** Reads audiences and their members, with the same SQL in both engines. */
export class AudienceRows implements AudienceReader {
  readonly #database: SqlDatabase

  constructor(database: SqlDatabase) {
    this.#database = database
  }

  async list(): Promise<readonly Audience[]> {
    const query = sql`SELECT ${audienceColumns} FROM evroute_audiences`
    const rows = await this.#database.read(() => rowsOf<AudienceRow>(query))
    // Sort here, because engines order some keys differently.
    return rows.map(audienceOf).toSorted((a, b) => (a.key < b.key ? -1 : 1))
  }

  members({ key, after, limit }: MembersRequest): Promise<readonly Member[]> {
    const { dialect } = this.#database
    return this.#database.read(function* () {
      const row = yield* findAudience(key)
      if (row === undefined) return []
      const page = yield* memberPage({ audienceId: row.id, after, rowsMax: limit }, dialect)
      return page.map((member) => ({
        identity: identityOf(member),
        value: fromStored(member.value),
      }))
    })
  }
}

/** Finds an audience, without locking its row. */
export function findAudience(key: string): Script<AudienceRow | undefined> {
  return firstRow<AudienceRow>(
    sql`SELECT ${audienceColumns} FROM evroute_audiences WHERE key = ${toStored(key)}`,
  )
}

/** Reads a page of an audience's members in the order of their keys; `after` is null for the first page. */
export function memberPage(
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
  return rowsOf<MemberRow>(sql`
    SELECT user_id, anonymous_id, email, number, value FROM evroute_members
    WHERE audience_id = ${audienceId}
      AND (user_key, member_key) > (${dialect.key(sql`${keys.user_key}`)}, ${dialect.key(sql`${keys.member_key}`)})
    ORDER BY user_key, member_key LIMIT ${rowsMax}`)
}

/** Converts a row, and unescapes its texts. */
export function audienceOf(row: AudienceRow): Audience {
  return {
    key: fromStored(row.key),
    name: fromStored(row.name),
    computationClass: row.class,
    computationId: fromStored(row.computation_id),
    sourceId: fromStored(row.source_id),
    members: row.members,
    createdAtMs: row.created_at,
    syncedAtMs: row.synced_at,
  }
}

/** Converts the identifiers in a row, and unescapes them. */
export function identityOf({
  user_id: userId,
  anonymous_id: anonymousId,
  email,
}: Omit<MemberRow, 'number' | 'value'>): MemberIdentity {
  return {
    userId: fromStoredOrNull(userId),
    anonymousId: fromStoredOrNull(anonymousId),
    email: fromStoredOrNull(email),
  }
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
