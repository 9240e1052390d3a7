/** The kind of a computation: membership in an audience, or the value of a trait. */
export type ComputationClass = 'audience' | 'trait'

/** An audience, or a computed trait, before its first sync. */
export interface NewAudience {
  /** The identifier, which is also the trait in identify calls. It stays when the name changes. */
  readonly key: string
  /** Its name for people. */
  readonly name: string
  /** Its kind. */
  readonly computationClass: ComputationClass
  /** A random id in the calls, unique over time. */
  readonly computationId: string
  /** The source whose destinations get the calls. */
  readonly sourceId: string
}

/** A stored audience or computed trait. */
export interface Audience extends NewAudience {
  /** Number of members. */
  readonly members: number
  /** The moment it was created, in milliseconds since 1970. */
  readonly createdAtMs: number
  /** The moment the last complete sync ended, in milliseconds since 1970; null before that. */
  readonly syncedAtMs: number | null
}

/** An identifier of a profile. It has a userId, an anonymousId or both, and gets calls of its own. */
export interface MemberIdentity {
  /** The user's id. */
  readonly userId: string | null
  /** The id of an anonymous user. */
  readonly anonymousId: string | null
  /** The email address of the identifier. */
  readonly email: string | null
}

/** A member with its value. */
export interface Member {
  /** The identifier. */
  readonly identity: MemberIdentity
  /** JSON as `JSON.stringify` writes it: `true` in an audience, the value of a trait. Never `null`. */
  readonly value: string
}

/** A change of a member. */
export interface MembershipChange {
  /** The identifier. */
  readonly identity: MemberIdentity
  /** The new value, as in {@link Member}; null if the member leaves. */
  readonly value: string | null
}
