/** What is computed for a user: membership in an audience, or the value of a trait. */
export type ComputationClass = 'audience' | 'trait'

/** An audience, or a computed trait, before its first sync. */
export interface NewAudience {
  /** The identifier, which is also the name of the trait in identify calls. It stays the same when `name` changes. */
  readonly key: string
  /** The name that people see. */
  readonly name: string
  /** Whether it is an audience or a computed trait. */
  readonly computationClass: ComputationClass
  /** A random id that calls carry, and that is never used again. */
  readonly computationId: string
  /** The source whose destinations get the calls. */
  readonly sourceId: string
}

/** A stored audience or computed trait. */
export interface Audience extends NewAudience {
  /** Number of members. */
  readonly members: number
  /** When it was created, in milliseconds since 1970. */
  readonly createdAtMs: number
  /** When the last complete sync ended, in milliseconds since 1970; null if none has. */
  readonly syncedAtMs: number | null
}

/** Identifies a member: a userId, an anonymousId or both. Each identifier gets calls of its own. */
export interface MemberIdentity {
  /** The user's id. */
  readonly userId: string | null
  /** The id of an anonymous user. */
  readonly anonymousId: string | null
  /** The email address, which calls carry as a trait. */
  readonly email: string | null
}

/** A member of an audience, or of a computed trait with the member's value. */
export interface Member {
  readonly identity: MemberIdentity
  /**
   * `true` in an audience, the value of a computed trait. It is JSON as `JSON.stringify` writes it, and never `null`.
   */
  readonly value: string
}

/** A member that enters, leaves or gets a new value. */
export interface MembershipChange {
  readonly identity: MemberIdentity
  /** The new value, as in {@link Member}; null if the member leaves. */
  readonly value: string | null
}
