/** In an `audience`, a user is a member or not. A computed `trait` also has a value for each member. */
export type ComputationClass = 'audience' | 'trait'

/** An audience, or a computed trait, before its first sync. */
export interface NewAudience {
  /** Identifies the audience, and names its trait in identify calls. Stays the same when `name` changes. */
  readonly key: string
  /** The name that people see. */
  readonly name: string
  readonly computationClass: ComputationClass
  /** A random id that its calls contain. Never reused. */
  readonly computationId: string
  /** The source whose destinations get the calls. */
  readonly sourceId: string
}

/** A stored audience or computed trait. */
export interface Audience extends NewAudience {
  readonly members: number
  /** When it was created, in milliseconds since 1970. */
  readonly createdAtMs: number
  /** When the last complete sync ended, in milliseconds since 1970; null if none has. */
  readonly syncedAtMs: number | null
}

/** Identifies a member by a userId, an anonymousId or both. Each such identity gets its own calls. */
export interface MemberIdentity {
  readonly userId: string | null
  readonly anonymousId: string | null
  /** Sent as a trait in calls. */
  readonly email: string | null
}

/** A member of an audience or computed trait. */
export interface Member {
  readonly identity: MemberIdentity
  /** As JSON from `JSON.stringify`: `true` in an audience, or the value of a computed trait; never `null`. */
  readonly value: string
}

/** A member that enters, leaves or gets a new value. */
export interface MembershipChange {
  readonly identity: MemberIdentity
  /** The new value, as in {@link Member}; null if the member leaves. */
  readonly value: string | null
}
