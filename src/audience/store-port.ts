import type { NewEvent } from '../delivery/index.ts'
import type { Audience, Member, MemberIdentity, MembershipChange, NewAudience } from './audience.ts'

/** Asks for a sync to begin. */
export interface BeginSyncRequest {
  /** The audience. Where its key is there already it keeps its computationId; its name is replaced. */
  readonly audience: NewAudience
  /** When it begins, in milliseconds since 1970. */
  readonly nowMs: number
}

/** Whether a sync began. */
export type BeginSyncResult =
  | {
      readonly kind: 'begun'
      /** The audience as it is kept. */
      readonly audience: Audience
      /** Names the sync in what follows. A sync of the same audience that began before is over. */
      readonly sync: number
    }
  /** The key is that of another source, or class: nothing is changed. */
  | { readonly kind: 'taken'; readonly audience: Audience }

/** What the requests of a sync have in common. */
export interface SyncRequest {
  /** The audience. */
  readonly key: string
  /** What {@link AudienceStore.begin} has given. */
  readonly sync: number
  /** Now, in milliseconds since 1970. */
  readonly nowMs: number
  /** An event is a duplicate when its messageId was added at this moment or after. */
  readonly seenSinceMs: number
  /**
   * Makes the calls of changes, one for each and in their order, with the deliveries that routing makes
   * of them. It is called within the transaction, perhaps several times for one change, and has to be
   * pure but for the ids it makes.
   */
  readonly eventsOf: (changes: readonly MembershipChange[]) => readonly NewEvent[]
}

/** Part of the list of a sync. */
export interface TakeRequest extends SyncRequest {
  /** Who is in it, in the order of the list. */
  readonly members: readonly Member[]
}

/**
 * What became of a line of a list.
 *
 * - `entered`: was no member, is one now
 * - `changed`: has another value now
 * - `unchanged`: is as it was
 * - `repeated`: stood in the list before, with the same value
 * - `contradicted`: stood in the list before, with another value, which stays
 * - `suppressed`: the user is suppressed; nothing is kept and nothing is sent
 */
export type TakeOutcome =
  'entered' | 'changed' | 'unchanged' | 'repeated' | 'contradicted' | 'suppressed'

/** What became of part of a list. `superseded`: another sync of the audience began since; nothing is changed. */
export type TakeResult =
  | { readonly kind: 'taken'; readonly outcomes: readonly TakeOutcome[] }
  | { readonly kind: 'superseded' }

/** Asks for those to leave who were not in the list. */
export interface ReleaseRequest extends SyncRequest {
  /** At the most so many members are looked at. */
  readonly rowsMax: number
  /** Only those behind this one: where the release before has ended. */
  readonly after: MemberIdentity | null
}

/** Who left. `superseded`: another sync of the audience began since; nothing is changed. */
export type ReleaseResult =
  | {
      readonly kind: 'released'
      /** Those who left: not identifiers of users who are still members by another one. */
      readonly left: readonly MemberIdentity[]
      /** Where the next release goes on; null once all were looked at: the sync is complete and over. */
      readonly next: MemberIdentity | null
    }
  | { readonly kind: 'superseded' }

/** A page of members. */
export interface MembersRequest {
  /** The audience. */
  readonly key: string
  /** At the most so many. */
  readonly limit: number
  /** Only those behind this one: the last of the page before. */
  readonly after: MemberIdentity | null
}

/** What is known of audiences: for whoever asks, in the syncing process or beside it. */
export interface AudienceReader {
  /** Every audience, ordered by key. */
  list(): Promise<readonly Audience[]>
  /** Members in an order of the engine's that does not change; none where there is no such audience. */
  members(request: MembersRequest): Promise<readonly Member[]>
}

/**
 * Where audiences and their members are kept: the port that the audience room owns and every engine
 * implements, beside the deliveries that their calls become. The rules of the DeliveryStore port hold.
 *
 * A sync is `begin`, `take` for every part of the list, and once all of it was taken `release` until
 * `next` is null. Each of them changes members, writes the calls of those changes and their deliveries
 * and counts them in the ledger in one transaction: a sync that ends anywhere between has sent exactly
 * what it has changed, and the next one goes on from there. Deliveries wait in the lane `first`; whoever
 * dispatches has to be woken.
 *
 * Each identifier that enters gets a call. A user who has several, by the same userId, or by the same
 * anonymousId where there is none, stays a member as long as one of them is left: only the last one that
 * goes gets a call. So nobody is told that a user left whose email or anonymousId has changed.
 *
 * The call of a user who is suppressed is never made. What has become of a call (`routed`, or `filtered`
 * where no destination is connected) does not matter to membership.
 */
export interface AudienceStore extends AudienceReader {
  /** Begins a sync; makes the audience where there is none with its key. */
  begin(request: BeginSyncRequest): Promise<BeginSyncResult>
  /** Takes part of a list in, all or nothing. */
  take(request: TakeRequest): Promise<TakeResult>
  /** Looks at some members, and lets those leave who were not in the list of this sync. */
  release(request: ReleaseRequest): Promise<ReleaseResult>
  /**
   * Forgets an audience, with its members if there are any, and tells nobody.
   *
   * @returns false where there is none with the key
   */
  remove(request: { readonly key: string }): Promise<boolean>
}
