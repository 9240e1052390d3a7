import type { MemberIdentity, NewAudience } from '../../audience/index.ts'
import { storedIdentifier, storedIdentity } from './audience-identity.ts'
import type { AudienceRow } from './audience-rows.ts'
import type { Database } from './database.ts'
import { toStored } from './stored-text.ts'

/** A member of an audience. */
export interface MemberKey {
  readonly audienceId: number
  readonly identity: MemberIdentity
}

/** What is kept of a member. */
export interface KeptMember {
  readonly number: number
  /** As it is stored. */
  readonly value: string
}

/** What changing audiences says to the database, compiled once. */
export class AudienceStatements {
  readonly #add
  readonly #rename
  readonly #audience
  readonly #count
  readonly #finish
  readonly #forget
  readonly #forgetMembers
  readonly #member
  readonly #enter
  readonly #change
  readonly #leave
  readonly #ofUser
  readonly #ofVisitor
  readonly #sources
  readonly #eraseUser

  constructor(database: Database) {
    this.#add = database.prepare(`
      INSERT INTO audiences (key, name, class, computation_id, source_id, members, numbers, created_at)
      VALUES (?, ?, ?, ?, ?, 0, 0, ?)`)
    this.#rename = database.prepare('UPDATE audiences SET name = ? WHERE id = ?')
    this.#audience = database.prepare('SELECT * FROM audiences WHERE id = ?')
    this.#count = database.prepare(
      'UPDATE audiences SET members = members + ?, numbers = numbers + ? WHERE id = ?',
    )
    this.#finish = database.prepare('UPDATE audiences SET synced_at = ? WHERE id = ?')
    this.#forget = database.prepare('DELETE FROM audiences WHERE id = ?')
    this.#forgetMembers = database.prepare('DELETE FROM members WHERE audience_id = ?')
    const ofMember = 'WHERE audience_id = ? AND user_id = ? AND anonymous_id = ? AND email = ?'
    this.#member = database.prepare(`SELECT number, value FROM members ${ofMember}`)
    this.#enter = database.prepare('INSERT INTO members VALUES (?, ?, ?, ?, ?, ?)')
    this.#change = database.prepare(`UPDATE members SET value = ? ${ofMember}`)
    this.#leave = database.prepare(`DELETE FROM members ${ofMember}`)
    const ofUser = 'SELECT 1 FROM members WHERE audience_id = ? AND user_id = ?'
    this.#ofUser = database.prepare(`${ofUser} LIMIT 1`)
    this.#ofVisitor = database.prepare(`${ofUser} AND anonymous_id = ? LIMIT 1`)
    this.#sources = database.prepare('SELECT id, source_id FROM audiences')
    this.#eraseUser = database.prepare('DELETE FROM members WHERE audience_id = ? AND user_id = ?')
  }

  /** Makes an audience without members. */
  add(audience: NewAudience, nowMs: number): void {
    const { key, name, computationClass, computationId, sourceId } = audience
    const names = [toStored(key), toStored(name)]
    this.#add.run(...names, computationClass, toStored(computationId), toStored(sourceId), nowMs)
  }

  /** Gives an audience another name. */
  rename(audienceId: number, name: string): void {
    this.#rename.run(toStored(name), audienceId)
  }

  /** An audience; undefined when it was forgotten. */
  audience(audienceId: number): AudienceRow | undefined {
    return this.#audience.get(audienceId) as AudienceRow | undefined
  }

  /** Counts members that entered, each with a number of its own, or that left where it is below zero. */
  count(audienceId: number, members: number): void {
    if (members !== 0) this.#count.run(members, Math.max(members, 0), audienceId)
  }

  /** Notes that the members of an audience are those of a list. */
  finish(audienceId: number, nowMs: number): void {
    this.#finish.run(nowMs, audienceId)
  }

  /** Forgets an audience and its members. */
  forget(audienceId: number): void {
    this.#forgetMembers.run(audienceId)
    this.#forget.run(audienceId)
  }

  /** What is kept of a member; undefined when it is none. */
  member({ audienceId, identity }: MemberKey): KeptMember | undefined {
    return this.#member.get(audienceId, ...storedIdentity(identity)) as KeptMember | undefined
  }

  /** Lets a member in. */
  enter({ audienceId, identity }: MemberKey, { number, value }: KeptMember): void {
    this.#enter.run(audienceId, ...storedIdentity(identity), number, value)
  }

  /** Gives a member another value. */
  change({ audienceId, identity }: MemberKey, value: string): void {
    this.#change.run(value, audienceId, ...storedIdentity(identity))
  }

  /** Lets a member leave. */
  leave({ audienceId, identity }: MemberKey): void {
    this.#leave.run(audienceId, ...storedIdentity(identity))
  }

  /** Whether a member is the same user, by userId, or by anonymousId where there is none. */
  hasUser({ audienceId, identity }: MemberKey): boolean {
    const [userId, anonymousId] = storedIdentity(identity)
    const row =
      identity.userId === null
        ? this.#ofVisitor.get(audienceId, userId, anonymousId)
        : this.#ofUser.get(audienceId, userId)
    return row !== undefined
  }

  /** Every audience with its source, as it is stored. */
  sources(): readonly Pick<AudienceRow, 'id' | 'source_id'>[] {
    return this.#sources.all() as readonly AudienceRow[]
  }

  /** Takes everything out of an audience that is about a user, and says how many members that were. */
  eraseUser(audienceId: number, userId: string): number {
    const { changes } = this.#eraseUser.run(audienceId, storedIdentifier(userId))
    this.count(audienceId, -Number(changes))
    return Number(changes)
  }
}
