import { setImmediate as nextTurn } from 'node:timers/promises'
import type { NewEvent } from '../delivery/index.ts'
import type { Destination } from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'
import type { Audience, Member, MemberIdentity, MembershipChange } from './audience.ts'
import { membershipEvent } from './membership-call.ts'
import type { AudienceStore, SyncRequest, TakeOutcome, TakeResult } from './store-port.ts'
import type { SyncListener } from './sync-listener.ts'

/** Members that are taken, or looked at, in one transaction at the most. */
export const partMembersMax = 1_000

/** What syncs and removals need. */
export interface SyncMeans {
  /** Where audiences are kept. */
  readonly store: AudienceStore
  /** Where the calls of changes may go. */
  readonly destinations: readonly Destination[]
  /** Is told what happens. */
  readonly listener: SyncListener
  /** For how long messageIds are remembered. */
  readonly dedupeWindowMs: number
  /**
   * Called before every part: resolves with true once more deliveries may wait, with false when the
   * sync is to end.
   */
  readonly hasRoom: () => Promise<boolean>
  /** Clock, ids and log. */
  readonly runtime: Runtime
  /** Ends the sync early: what was stored stays, and the next one goes on from there. */
  readonly signal: AbortSignal
}

/** A sync that has begun: takes parts of its list, then lets those leave who were not in it. */
export class BegunSync {
  readonly #means: SyncMeans
  readonly #audience: Audience
  readonly #sync: number

  /** @param begun - what `begin` of the store has given */
  constructor(means: SyncMeans, begun: { readonly audience: Audience; readonly sync: number }) {
    this.#means = means
    this.#audience = begun.audience
    this.#sync = begun.sync
  }

  /** Takes a part of the list, once there is room for what it causes. */
  async take(members: readonly Member[]): Promise<TakeResult | { readonly kind: 'ended' }> {
    if (!(await mayGoOn(this.#means))) return { kind: 'ended' }
    const { store, listener } = this.#means
    const result = await store.take({ ...this.#request(), members })
    if (result.kind === 'superseded') return result
    const changes = members.filter((_, index) => isChange(result.outcomes[index]))
    if (changes.length > 0) listener.changed(changes)
    return result
  }

  /**
   * Lets those leave who were not in the list, part by part.
   *
   * @param released - is told after each part how many left
   */
  async releaseAll(released: (left: number) => void): Promise<'complete' | 'ended' | 'superseded'> {
    const { store, listener } = this.#means
    let after: MemberIdentity | null = null
    for (;;) {
      if (!(await mayGoOn(this.#means))) return 'ended'
      const result = await store.release({ ...this.#request(), rowsMax: partMembersMax, after })
      if (result.kind === 'superseded') return 'superseded'
      const { left, next } = result
      if (left.length > 0) listener.changed(left.map((identity) => ({ identity, value: null })))
      released(left.length)
      if (next === null) return 'complete'
      after = next
    }
  }

  #request(): SyncRequest {
    const { destinations, dedupeWindowMs, runtime } = this.#means
    const audience = this.#audience
    const nowMs = runtime.clock.nowMs()
    const partId = runtime.newId()
    let calls = 0
    // Ids that begin alike lie side by side in an index: a part is stored twice as fast.
    const newId = (): string => `${partId}-${calls++}`
    const options = { audience, destinations, nowMs, newId }
    const eventsOf = (changes: readonly MembershipChange[]): readonly NewEvent[] =>
      changes.map((change) => membershipEvent(change, options))
    const seenSinceMs = nowMs - dedupeWindowMs
    return { key: audience.key, sync: this.#sync, nowMs, seenSinceMs, eventsOf }
  }
}

/** Whether the next part may come; the event loop turns before. */
export async function mayGoOn({
  hasRoom,
  signal,
}: Pick<SyncMeans, 'hasRoom' | 'signal'>): Promise<boolean> {
  await nextTurn()
  if (signal.aborted || !(await hasRoom())) return false
  return !isAborted(signal)
}

/** Asked again: it may have aborted since. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted
}

function isChange(outcome: TakeOutcome | undefined): boolean {
  return outcome === 'entered' || outcome === 'changed'
}

/** An audience as the store has it now; as it was known, where it is gone. */
export async function audienceNow(
  store: Pick<AudienceStore, 'list'>,
  known: Audience,
): Promise<Audience> {
  return (await store.list()).find(({ key }) => key === known.key) ?? known
}
