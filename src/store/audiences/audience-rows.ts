import type {
  Audience,
  AudienceReader,
  ComputationClass,
  Member,
  MemberIdentity,
  MembersRequest,
} from '../../audience/index.ts'
import { firstRow, rowsOf, type Dialect, type Script, type SqlDatabase } from '../sql.ts'
import { fromStored, fromStoredOrNull, toStored } from '../stored-text.ts'

/** A row of `audiences`. */
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

/** A row of `members`. */
export interface MemberRow extends IdentityColumns {
  readonly number: number
  readonly value: string
}

/** The columns of an audience, listed because a newer version may have added more. */
export const audienceColumns =
  'id, key, name, class, computation_id, source_id, members, numbers, created_at, synced_at, sync'

/** A page of the members of an audience, in the order of their keys. */
export interface MemberPage {
  readonly audienceId: number
  /** Only members after this one; null for the first page. */
  readonly after: MemberIdentity | null
  /** The maximum number of rows. */
  readonly rowsMax: number
}

/** Reads audiences and their members. */
export class AudienceRows implements AudienceReader {
  readonly #database: SqlDatabase

  constructor(database: SqlDatabase) {
    this.#database = database
  }

  async list(): Promise<readonly Audience[]> {
    const sql = `SELECT ${audienceColumns} FROM evroute_audiences`
    const rows = await this.#database.read(() =>
      rowsOf<AudienceRow>({ name: 'audiences', sql, values: [] }),
    )
    // Engines order some keys differently.
    return rows.map(audienceOf).toSorted((a, b) => (a.key < b.key ? -1 : 1))
  }

  members(request: MembersRequest): Promise<readonly Member[]> {
    const { dialect } = this.#database
    return this.#database.read(function* () {
      const row = yield* findAudience(request.key)
      if (row === undefined) return []
      const { after, limit: rowsMax } = request
      const page = yield* memberPage({ audienceId: row.id, after, rowsMax }, dialect)
      return page.map((member) => ({
        identity: identityOf(member),
        value: fromStored(member.value),
      }))
    })
  }
}

/** Finds the audience with a key; undefined if there is none. */
export function findAudience(key: string): Script<AudienceRow | undefined> {
  const sql = `SELECT ${audienceColumns} FROM evroute_audiences WHERE key = $1`
  return firstRow<AudienceRow>({ name: 'audience', sql, values: [toStored(key)] })
}

/** Reads a page of an audience's members. */
export function memberPage(
  { audienceId, after, rowsMax }: MemberPage,
  dialect: Dialect,
): Script<readonly MemberRow[]> {
  const { key } = dialect
  const sql = `
    SELECT user_id, anonymous_id, email, number, value FROM evroute_members
    WHERE audience_id = $1 AND (user_key, member_key) > (${key('$2')}, ${key('$3')})
    ORDER BY user_key, member_key LIMIT $4`
  const keys = after === null ? noKeys : keysOf(after, dialect)
  return rowsOf<MemberRow>({
    name: 'members',
    sql,
    values: [audienceId, keys.user_key, keys.member_key, rowsMax],
  })
}

/** Sorts before all other keys. */
const noKeys = Object.freeze({ user_key: '', member_key: '' })

/** Makes an audience from its row. */
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

/** The columns that identify a member. */
export interface IdentityColumns {
  readonly user_id: string | null
  readonly anonymous_id: string | null
  readonly email: string | null
}

/** Makes the identity of a row. */
export function identityOf(columns: IdentityColumns): MemberIdentity {
  return {
    userId: fromStoredOrNull(columns.user_id),
    anonymousId: fromStoredOrNull(columns.anonymous_id),
    email: fromStoredOrNull(columns.email),
  }
}

/** The keys that find a member. */
export type MemberKeys = {
  /** The key of the user. */
  readonly user_key: string
  /** The key of the member among those of its user. */
  readonly member_key: string
}

/** Returns the keys of an identity. */
export function keysOf(identity: MemberIdentity, { keyOf }: Dialect): MemberKeys {
  return { user_key: keyOf(userText(identity)), member_key: keyOf(memberText(identity)) }
}

/** Returns the key of a user. */
export function userKey(userId: string, { keyOf }: Dialect): string {
  return keyOf(userText({ userId, anonymousId: null }))
}

/** Returns the text that identifies a user: by the userId, otherwise by the anonymousId. */
export function userText({ userId, anonymousId }: Omit<MemberIdentity, 'email'>): string {
  return JSON.stringify(userId === null ? [null, anonymousId] : [userId])
}

/** Returns the text that identifies a member. */
export function memberText({ userId, anonymousId, email }: MemberIdentity): string {
  return JSON.stringify([userId, anonymousId, email])
}
