/** What is computed: whether a profile is a member, or a value that it has. */
export type ComputationClass = 'audience' | 'trait'

/** An audience, or a computed trait, before it was ever synced. */
export interface NewAudience {
  /** The property of the identify calls; identifies it, and stays when the name changes. */
  readonly key: string
  /** What people call it. */
  readonly name: string
  /** What it says of a profile. */
  readonly computationClass: ComputationClass
  /** Stands in the calls; random, so that no two were ever the same. */
  readonly computationId: string
  /** The source whose destinations get the calls. */
  readonly sourceId: string
}

/** An audience, or a computed trait, as it is kept. */
export interface Audience extends NewAudience {
  /** How many members it has. */
  readonly members: number
  /** When it was made, in milliseconds since 1970. */
  readonly createdAtMs: number
  /** When a sync was last complete, in milliseconds since 1970; null before the first one was. */
  readonly syncedAtMs: number | null
}

/** One of the identifiers of a profile: it gets calls of its own. At least one of the first two is there. */
export interface MemberIdentity {
  /** The user's id. */
  readonly userId: string | null
  /** The id of a user who is not known yet. */
  readonly anonymousId: string | null
  /** The address that goes with it. */
  readonly email: string | null
}

/** A member, and what is computed of it. */
export interface Member {
  /** Who it is. */
  readonly identity: MemberIdentity
  /** JSON as `JSON.stringify` writes it: `true` in an audience, the value of a trait. Never `null`. */
  readonly value: string
}

/** What becomes different for a member. */
export interface MembershipChange {
  /** Who it is. */
  readonly identity: MemberIdentity
  /** The value from now on, as {@link Member} has it; null for who leaves. */
  readonly value: string | null
}
