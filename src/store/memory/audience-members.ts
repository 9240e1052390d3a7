import type { Member, MemberIdentity } from '../../audience/index.ts'

/** A member as it is kept; it is replaced, never changed. */
export interface KeptMember extends Member {
  /** The sync whose list has named it last. */
  readonly listedBy: number
}

/** Identifies a member of an audience. */
export function memberKey({ userId, anonymousId, email }: MemberIdentity): string {
  return JSON.stringify([userId, anonymousId, email])
}

/** Identifies the user that a member is: by userId, or by anonymousId where there is none. */
function userKey({ userId, anonymousId }: Omit<MemberIdentity, 'email'>): string {
  return JSON.stringify(userId === null ? [null, anonymousId] : [userId])
}

/** The members of an audience. */
export class AudienceMembers {
  readonly #byKey = new Map<string, KeptMember>()
  /** The keys by which a user is a member: one for each identifier. */
  readonly #keysOfUser = new Map<string, readonly string[]>()
  /** Keys in the order of pages, with those of members that left since; undefined once one is missing. */
  #ordered: readonly string[] | undefined

  /** How many there are. */
  get size(): number {
    return this.#byKey.size
  }

  /** The member with a key; undefined when there is none. */
  get(key: string): KeptMember | undefined {
    return this.#byKey.get(key)
  }

  /** Keeps a member, in the place of the one that has its key. */
  set(key: string, member: KeptMember): void {
    if (!this.#byKey.has(key)) {
      this.#ordered = undefined
      this.#keep(member.identity, (keys) => [...keys, key])
    }
    this.#byKey.set(key, member)
  }

  /** Lets a member leave. */
  delete(key: string): void {
    const member = this.#byKey.get(key)
    if (member === undefined) return
    this.#byKey.delete(key)
    this.#keep(member.identity, (keys) => keys.filter((other) => other !== key))
  }

  /** Of those who would leave, the last identifier of each user that has no other one then. */
  usersWithout(leaving: readonly MemberIdentity[]): readonly MemberIdentity[] {
    const left = new Map<string, number>()
    return leaving.filter((identity) => {
      const user = userKey(identity)
      const count = (left.get(user) ?? this.#keysOf(user).length) - 1
      left.set(user, count)
      return count <= 0
    })
  }

  /** Takes out whatever is about a user, and says how many members that were. */
  eraseUser(userId: string): number {
    const keys = this.#keysOf(userKey({ userId, anonymousId: null }))
    for (const key of keys) this.delete(key)
    return keys.length
  }

  #keysOf(user: string): readonly string[] {
    return this.#keysOfUser.get(user) ?? []
  }

  #keep(identity: MemberIdentity, change: (keys: readonly string[]) => readonly string[]): void {
    const user = userKey(identity)
    const keys = change(this.#keysOf(user))
    if (keys.length === 0) this.#keysOfUser.delete(user)
    else this.#keysOfUser.set(user, keys)
  }

  /** Members in the order of their keys: at the most `limit` of those behind one. */
  page({ after, limit }: { after: MemberIdentity | null; limit: number }): readonly KeptMember[] {
    this.#ordered ??= [...this.#byKey.keys()].sort()
    const page: KeptMember[] = []
    let place = after === null ? 0 : placeBehind(this.#ordered, memberKey(after))
    for (; place < this.#ordered.length && page.length < limit; place++) {
      const member = this.#byKey.get(this.#ordered[place] ?? '')
      if (member !== undefined) page.push(member)
    }
    return page
  }
}

/** Where those begin that come behind a key, be it there or not. */
function placeBehind(ordered: readonly string[], key: string): number {
  let [low, high] = [0, ordered.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((ordered[middle] ?? '') <= key) low = middle + 1
    else high = middle
  }
  return low
}
