import type { TableRow } from '../importer/index.ts'
import type { Audience, NewAudience } from './audience.ts'
import { audienceNow, BegunSync, type SyncContext } from './begun-sync.ts'
import { MemberFields, type MemberColumns } from './member-fields.ts'
import { MemberList, type MemberListOptions } from './member-list.ts'
import { noSyncCounts, type SyncCounts } from './sync-listener.ts'

/** The audience to sync, and the rows and columns that list its members. */
export interface SyncOptions extends SyncContext {
  readonly audience: NewAudience
  readonly rows: AsyncIterable<readonly TableRow[]>
  readonly columns: MemberColumns
}

/**
 * The result of a sync.
 *
 * - `synced`: the members are those of the list
 * - `incomplete`: rows were rejected, so no member was removed, because a rejected row may name any of them
 * - `ended`: the sync ended early
 * - `superseded`: a newer sync of the audience has begun in the meantime
 * - `taken`: the key already belongs to a different source or class
 */
export type SyncOutcome =
  | {
      readonly kind: 'synced' | 'incomplete' | 'ended' | 'superseded'
      readonly audience: Audience
      readonly counts: SyncCounts
    }
  | { readonly kind: 'taken'; readonly audience: Audience }

/**
 * Replaces the members of an audience with those in a list, and sends an identify call for each member that changes.
 * Uses constant memory. Throws SettingError if the list lacks the named columns: for CSV, before anything is stored;
 * for JSON, at the end of the list, before any member leaves.
 */
export async function syncAudience(options: SyncOptions): Promise<SyncOutcome> {
  const { store, audience, listener, runtime } = options
  const fields = new MemberFields(options.columns, audience.computationClass)
  const counts = { ...noSyncCounts }
  const rowListener: MemberListOptions['listener'] = {
    read: () => {
      counts.read++
    },
    rejected: (row) => {
      counts.rejected++
      listener.rejected(row)
    },
  }
  const list = new MemberList({ ...options, fields, listener: rowListener })
  try {
    await list.open()
    const begun = await store.begin({ audience, nowMs: runtime.clock.nowMs() })
    if (begun.kind === 'taken') return begun
    const sync = new BegunSync(options, begun)
    const kind = await syncList({ ...options, fields, counts, list, sync })
    return { kind, audience: await audienceNow(store, begun.audience), counts }
  } finally {
    await list.close()
  }
}

interface Syncing extends SyncOptions {
  readonly fields: MemberFields
  readonly counts: Record<keyof SyncCounts, number>
  readonly list: MemberList
  readonly sync: BegunSync
}

async function syncList(
  syncing: Syncing,
): Promise<'synced' | 'incomplete' | 'ended' | 'superseded'> {
  const taken = await takeAll(syncing)
  if (taken !== 'complete') return taken
  const { fields, sync, counts, listener } = syncing
  fields.readEnd()
  if (counts.rejected > 0) return 'incomplete'
  const released = await sync.releaseAll((left) => {
    counts.left = left
    listener.progress({ ...counts })
  })
  return released === 'complete' ? 'synced' : released
}

async function takeAll({
  list,
  sync,
  counts,
  listener,
  signal,
}: Syncing): Promise<'complete' | 'ended' | 'superseded'> {
  for (;;) {
    const part = await list.nextPart()
    if (signal.aborted) return 'ended'
    if (part.length === 0) return 'complete'
    const result = await sync.take(part.map(({ member }) => member))
    if (result.kind !== 'taken') return result.kind
    for (const outcome of result.outcomes) {
      // Count a member only once, even if the list repeats it.
      if (outcome !== 'repeated' && outcome !== 'contradicted') counts[outcome]++
    }
    list.rejectContradicted(part.filter((_, index) => result.outcomes[index] === 'contradicted'))
    listener.progress({ ...counts })
  }
}
