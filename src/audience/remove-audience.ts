import type { Audience, NewAudience } from './audience.ts'
import { audienceNow, BegunSync, mayGoOn, type SyncMeans } from './begun-sync.ts'
import { memberPages } from './member-pages.ts'
import { SyncTally } from './sync-tally.ts'

/** What an audience is removed with. */
export interface RemovalOptions extends SyncMeans {
  /** The audience. */
  readonly audience: NewAudience
  /** Whether only to tell who would leave. */
  readonly isDryRun: boolean
}

/**
 * What became of a removal.
 *
 * - `removed`: everybody left, and the audience is forgotten
 * - `ended`: it was ended early: who has left stays out, and the audience is still there
 * - `superseded`: a sync of the audience began meanwhile, or another audience has its key now
 */
export interface RemovalOutcome {
  /** What became of it. */
  readonly kind: 'removed' | 'ended' | 'superseded'
  /** The audience, as it was kept last. */
  readonly audience: Audience
  /** Members that left. */
  readonly left: number
}

/**
 * Lets every member of an audience leave, with an identify call for each, and forgets the audience. In a
 * dry run it is only told who would leave, and nothing is written.
 *
 * @throws whatever makes the store unusable; what was stored stays
 */
export async function removeAudience(options: RemovalOptions): Promise<RemovalOutcome> {
  const { store, listener, isDryRun, runtime } = options
  const known = await audienceNow(store, {
    ...options.audience,
    members: 0,
    createdAtMs: runtime.clock.nowMs(),
    syncedAtMs: null,
  })
  const tally = new SyncTally()
  const released = (left: number): void => {
    tally.add('left', left)
    listener.progress(tally.counts())
  }
  const kind = isDryRun ? await tellAll(options, released) : await releaseAll(options, released)
  const audience = await audienceNow(store, known)
  if (kind === 'complete' && !isDryRun) await store.remove({ key: audience.key })
  return { kind: kind === 'complete' ? 'removed' : kind, audience, left: tally.counts().left }
}

type Released = (left: number) => void

async function releaseAll(
  options: RemovalOptions,
  released: Released,
): Promise<'complete' | 'ended' | 'superseded'> {
  const { store, audience, runtime } = options
  const begun = await store.begin({ audience, nowMs: runtime.clock.nowMs() })
  if (begun.kind === 'taken') return 'superseded'
  return new BegunSync(options, begun).releaseAll(released)
}

async function tellAll(options: RemovalOptions, released: Released): Promise<'complete' | 'ended'> {
  const { store, audience, listener } = options
  for await (const members of memberPages(store, audience.key)) {
    if (!(await mayGoOn(options))) return 'ended'
    listener.changed(members.map(({ identity }) => ({ identity, value: null })))
    released(members.length)
  }
  return 'complete'
}
