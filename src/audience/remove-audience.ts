import type { Audience, Member, NewAudience } from './audience.ts'
import { audienceNow, BegunSync, mayGoOn, memberPages, type SyncContext } from './begun-sync.ts'
import type { AudienceReader } from './store-port.ts'
import { noSyncCounts } from './sync-listener.ts'

interface RemovalOptions extends SyncContext {
  readonly audience: NewAudience
}

interface RemovalPreviewOptions extends Omit<
  RemovalOptions,
  'store' | 'destinations' | 'dedupeWindowMs'
> {
  /** The store with the audience, which is only read. */
  readonly store: AudienceReader
}

/**
 * The result of a removal.
 *
 * - `removed`: all members left, and the audience is deleted
 * - `ended`: the removal ended early. Some members may have left, and the audience still exists
 * - `superseded`: a sync of the audience has begun meanwhile, or a different audience has the key
 */
export interface RemovalOutcome {
  readonly kind: 'removed' | 'ended' | 'superseded'
  /** The audience as it was last stored. */
  readonly audience: Audience
  /** How many users left. */
  readonly left: number
}

/** Removes every member of an audience, with an identify call for each, and deletes the audience. */
export async function removeAudience(options: RemovalOptions): Promise<RemovalOutcome> {
  const { store, listener, runtime } = options
  const known = await knownAudience(options)
  const begun = await store.begin({ audience: options.audience, nowMs: runtime.clock.nowMs() })
  let left = 0
  const released = (leftSoFar: number): void => {
    left = leftSoFar
    listener.progress({ ...noSyncCounts, left })
  }
  const kind =
    begun.kind === 'taken' ? 'superseded' : await new BegunSync(options, begun).releaseAll(released)
  const audience = await audienceNow(store, known)
  if (kind === 'complete') await store.remove({ key: audience.key })
  return { kind: kind === 'complete' ? 'removed' : kind, audience, left }
}

/** Makes a dry run of a removal: reports the users who would leave, without changing anything. */
export async function previewRemoval(options: RemovalPreviewOptions): Promise<RemovalOutcome> {
  const { store, listener } = options
  const audience = await knownAudience(options)
  let left = 0
  const leave = (members: readonly Member[]): void => {
    if (members.length === 0) return
    listener.changed(members.map(({ identity }) => ({ identity, value: null })))
    left += members.length
    listener.progress({ ...noSyncCounts, left })
  }
  let waiting: readonly Member[] = []
  for await (const page of memberPages(store, audience.key)) {
    if (!(await mayGoOn(options))) return { kind: 'ended', audience, left }
    const members = [...waiting, ...page]
    // Report each user once. A user can have several memberships: report the last, which may be on the next page.
    leave(members.filter((member, index) => isOfOtherUser(member, members[index + 1])))
    waiting = page.slice(-1)
  }
  leave(waiting)
  return { kind: 'removed', audience, left }
}

function isOfOtherUser({ identity }: Member, next: Member | undefined): boolean {
  if (next === undefined) return false
  const { userId, anonymousId } = next.identity
  if (identity.userId !== userId) return true
  return userId === null && identity.anonymousId !== anonymousId
}

function knownAudience({ store, audience, runtime }: RemovalPreviewOptions): Promise<Audience> {
  const createdAtMs = runtime.clock.nowMs()
  return audienceNow(store, { ...audience, members: 0, createdAtMs, syncedAtMs: null })
}
