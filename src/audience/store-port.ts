import type { NewEvent } from '../delivery/index.ts'
import type { Audience, Member, MemberIdentity, MembershipChange, NewAudience } from './audience.ts'

/** The audience to sync, which the first sync creates. */
export interface BeginSyncRequest {
  /** An existing audience with the same key keeps its computationId and gets this name. */
  readonly audience: NewAudience
  readonly nowMs: number
}

/** Whether a sync began. */
export type BeginSyncResult =
  | {
      readonly kind: 'begun'
      readonly audience: Audience
      /** The number of the sync. Earlier syncs of the audience are superseded. */
      readonly sync: number
    }
  /** The key already belongs to a different source or class. Nothing changed. */
  | { readonly kind: 'taken'; readonly audience: Audience }

/** The fields of all requests within a sync. */
export interface SyncRequest {
  readonly key: string
  /** From {@link AudienceStore.begin}. */
  readonly sync: number
  readonly nowMs: number
  /** An event is a duplicate if its messageId was added at this time or later, in milliseconds since 1970. */
  readonly seenSinceMs: number
  /** The changes that the step is expected to make; empty while they are unknown. */
  readonly plan: StepPlan
}

/** The expected changes of a step, and one routed call for each, in order. */
export interface StepPlan {
  readonly changes: readonly MembershipChange[]
  readonly events: readonly NewEvent[]
}

/** The answer to a step whose plan was out of date: nothing was stored. Make a new plan for `changes`. */
export interface PlannedStep {
  readonly kind: 'planned'
  readonly changes: readonly MembershipChange[]
}

/** A request to apply one part of a sync's list. */
export interface TakeRequest extends SyncRequest {
  readonly members: readonly Member[]
}

/**
 * The outcome of a line of a list.
 *
 * - `entered`: a new member
 * - `changed`: a member with a new value
 * - `unchanged`: a member with the same value
 * - `repeated`: an earlier line had the member with the same value
 * - `contradicted`: an earlier line had the member with a different value; the earlier value is kept
 * - `suppressed`: the user is suppressed; nothing is stored or sent
 */
export type TakeOutcome =
  'entered' | 'changed' | 'unchanged' | 'repeated' | 'contradicted' | 'suppressed'

/** The outcome of part of a list; `superseded`, without changes, if a newer sync of the audience has begun. */
export type TakeResult =
  | { readonly kind: 'taken'; readonly outcomes: readonly TakeOutcome[] }
  | { readonly kind: 'superseded' }

/** A request to remove members that weren't in the list. */
export interface ReleaseRequest extends SyncRequest {
  readonly rowsMax: number
  /** Continues after this member: the `next` that the previous call returned; null in the first call. */
  readonly after: MemberIdentity | null
}

/** The outcome of a release; `superseded`, without changes, if a newer sync of the audience has begun. */
export type ReleaseResult =
  | {
      readonly kind: 'released'
      /** The users who left, each by the last identity that they had in the audience. */
      readonly left: readonly MemberIdentity[]
      /** The `after` of the next release; null once the sync is complete. */
      readonly next: MemberIdentity | null
    }
  | { readonly kind: 'superseded' }

/** A request for a page of members. */
export interface MembersRequest {
  readonly key: string
  readonly limit: number
  /** Only members after this one: the last on the previous page. */
  readonly after: MemberIdentity | null
}

/** Reads audiences and their members, also from a store that another process delivers from. */
export interface AudienceReader {
  /** Lists every audience, ordered by key. */
  list(): Promise<readonly Audience[]>
  /**
   * Lists members in a stable order, which depends on the engine; none if there is no such audience. Members of one user
   * follow one another.
   */
  members(request: MembersRequest): Promise<readonly Member[]>
}

/**
 * Keeps audiences and their members. The rules of the DeliveryStore port apply.
 *
 * A sync is `begin`, then `take` for every part of the list, then `release` until `next` is null. Each step is one
 * transaction, which changes members, adds the calls for the changes with their deliveries, and updates the ledger.
 * If the changes would differ from the plan, a step stores nothing and returns the changes. `makeStep` then repeats the
 * step with these changes as its plan. If a sync is interrupted, every stored change has its call, and the next sync
 * makes the missing changes. Deliveries wait in the lane `first`; the caller wakes the dispatcher.
 *
 * Every member that enters gets a call. Members with the same userId are one user. Without a userId, members with the
 * same anonymousId are one user. A user leaves when the user's last member leaves, and only this last member gets a
 * call. Suppressed users get no calls.
 */
export interface AudienceStore extends AudienceReader {
  /** Begins a sync; creates the audience if its key is new. */
  begin(request: BeginSyncRequest): Promise<BeginSyncResult>
  /** Applies one part of a list, all or nothing. */
  take(request: TakeRequest): Promise<TakeResult | PlannedStep>
  /** Checks a page of members, and removes those that weren't in the list of this sync. */
  release(request: ReleaseRequest): Promise<ReleaseResult | PlannedStep>
  /** Deletes an audience with its members, and makes no calls for them; false if no audience has the key. */
  remove(request: { readonly key: string }): Promise<boolean>
}
