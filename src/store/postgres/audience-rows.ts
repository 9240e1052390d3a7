import type {
  Audience,
  AudienceReader,
  ComputationClass,
  Member,
  MemberIdentity,
  MembersRequest,
} from '../../audience/index.ts'
import { fromStored, toStored } from '../stored-text.ts'
import { identityOf, memberKey, userKey, type IdentityColumns } from './audience-identity.ts'
import type { Session } from './database.ts'

/** An audience as it stands in the database. */
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

/** A member as it stands in the database. */
export interface MemberRow extends IdentityColumns {
  readonly number: number
  readonly value: string
}

/** The columns of an audience, by name: another version may have added some. */
export const audienceColumns =
  'id, key, name, class, computation_id, source_id, members, numbers, created_at, synced_at, sync'

/** Some members of an audience, in the order of their keys. */
export interface MemberPage {
  readonly audienceId: number
  /** Only those behind this one; null for the first page. */
  readonly after: MemberIdentity | null
  /** At the most so many. */
  readonly rowsMax: number
}

const pageSql = `
  SELECT user_id, anonymous_id, email, number, value FROM evroute_members
  WHERE audience_id = $1 AND (user_key, member_key) > (decode($2, 'hex'), decode($3, 'hex'))
  ORDER BY user_key, member_key LIMIT $4`

/** Reads audiences and their members. */
export class AudienceRows implements AudienceReader {
  readonly #database: Session

  constructor(database: Session) {
    this.#database = database
  }

  async list(): Promise<readonly Audience[]> {
    const sql = `SELECT ${audienceColumns} FROM evroute_audiences`
    const query = { name: 'audiences', sql, values: [] }
    const audiences = (await this.#database.rows<AudienceRow>(query)).map(audienceOf)
    // Not by PostgreSQL, which orders some keys in another way than the other engines.
    return audiences.toSorted((a, b) => (a.key < b.key ? -1 : 1))
  }

  async members({ key, after, limit }: MembersRequest): Promise<readonly Member[]> {
    const row = await this.find(key)
    if (row === undefined) return []
    const page = await memberPage(this.#database, { audienceId: row.id, after, rowsMax: limit })
    return page.map((member) => ({ identity: identityOf(member), value: fromStored(member.value) }))
  }

  /** The audience with a key; undefined when there is none. */
  async find(key: string): Promise<AudienceRow | undefined> {
    const sql = `SELECT ${audienceColumns} FROM evroute_audiences WHERE key = $1`
    const query = { name: 'audience', sql, values: [toStored(key)] }
    const [row] = await this.#database.rows<AudienceRow>(query)
    return row
  }
}

/** Some members as they stand in the database. */
export function memberPage(session: Session, page: MemberPage): Promise<readonly MemberRow[]> {
  const { audienceId, after, rowsMax } = page
  const place = after === null ? ['', ''] : [userKey(after), memberKey(after)]
  const values = [audienceId, ...place, rowsMax]
  return session.rows<MemberRow>({ name: 'members', sql: pageSql, values })
}

/** An audience out of its row. */
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
