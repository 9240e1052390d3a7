import type {
  Audience,
  ComputationClass,
  Member,
  MemberIdentity,
  MembersRequest,
} from '../../audience/index.ts'
import { identityOf, storedIdentity, type IdentityColumns } from './audience-identity.ts'
import type { Database } from './database.ts'
import { fromStored, toStored } from './stored-text.ts'

/** An audience as it stands in the file. */
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
}

/** A member as it stands in the file. */
export interface MemberRow extends IdentityColumns {
  readonly number: number
  readonly value: string
}

/** Some members of an audience, in the order of their key. */
export interface MemberPage {
  readonly audienceId: number
  /** Only those behind this one; null for the first page. */
  readonly after: MemberIdentity | null
  /** At the most so many. */
  readonly rowsMax: number
}

/** Comes before every identity: one that has neither id is none. */
const nobody: MemberIdentity = Object.freeze({ userId: null, anonymousId: null, email: null })

/** Reads audiences and their members out of a file. */
export class AudienceRows {
  readonly #all
  readonly #byKey
  readonly #page

  constructor(database: Database) {
    this.#all = database.prepare('SELECT * FROM audiences')
    this.#byKey = database.prepare('SELECT * FROM audiences WHERE key = ?')
    this.#page = database.prepare(`
      SELECT user_id, anonymous_id, email, number, value FROM members
      WHERE audience_id = ? AND (user_id, anonymous_id, email) > (?, ?, ?)
      ORDER BY user_id, anonymous_id, email LIMIT ?`)
  }

  /** Every audience, ordered by key. */
  list(): readonly Audience[] {
    const audiences = (this.#all.all() as readonly AudienceRow[]).map(audienceOf)
    // Not by SQLite, which orders some keys in another way than the other engines.
    return audiences.toSorted((a, b) => (a.key < b.key ? -1 : 1))
  }

  /** A page of members. */
  members({ key, after, limit }: MembersRequest): readonly Member[] {
    const row = this.find(key)
    if (row === undefined) return []
    const page = this.page({ audienceId: row.id, after, rowsMax: limit })
    return page.map((member) => ({ identity: identityOf(member), value: fromStored(member.value) }))
  }

  /** The audience with a key; undefined when there is none. */
  find(key: string): AudienceRow | undefined {
    return this.#byKey.get(toStored(key)) as AudienceRow | undefined
  }

  /** Some members as they stand in the file. */
  page({ audienceId, after, rowsMax }: MemberPage): readonly MemberRow[] {
    const place = storedIdentity(after ?? nobody)
    return this.#page.all(audienceId, ...place, rowsMax) as readonly MemberRow[]
  }
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
