import type { Audience } from './audience.ts'
import { BegunSync, type SyncMeans } from './begun-sync.ts'
import { memberPages } from './member-pages.ts'
import type { AudienceReader, AudienceStore } from './store-port.ts'
import type { SyncListener } from './sync-listener.ts'
import { syncAudience, type SyncOptions, type SyncOutcome } from './sync-audience.ts'

/** What a sync is tried with. */
export interface PreviewOptions extends Omit<SyncOptions, 'store'> {
  /** Where audiences are kept; it is only read. */
  readonly store: AudienceReader
  /** Is empty, and takes a copy of the members: it is written instead. */
  readonly scratch: AudienceStore
}

/**
 * Tells what a sync would do: the same rows are rejected, and the same identifiers enter, change and
 * leave, but nothing of it is stored or sent. Who is suppressed is not known here, and counts as
 * everybody else.
 *
 * @returns what the sync would come to, with the audience as it would be, were it synced now
 * @throws what {@link syncAudience} throws
 */
export async function previewAudience(options: PreviewOptions): Promise<SyncOutcome> {
  const { store, scratch } = options
  const { key, name, sourceId, computationClass } = options.audience
  const kept = (await store.list()).find((audience) => audience.key === key)
  // Where nothing is connected, calls come to nothing.
  const means = { ...options, store: scratch, destinations: [] }
  if (kept === undefined) return syncAudience(means)
  if (kept.sourceId !== sourceId || kept.computationClass !== computationClass) {
    return { kind: 'taken', audience: kept }
  }
  await copyMembers(store, kept, means)
  const outcome = await syncAudience({ ...means, audience: { ...kept, name } })
  const { createdAtMs, syncedAtMs } = kept
  return { ...outcome, audience: { ...outcome.audience, createdAtMs, syncedAtMs } }
}

/** Makes the scratch store have what is kept, as if it had been synced there. */
async function copyMembers(from: AudienceReader, kept: Audience, means: SyncMeans): Promise<void> {
  const nowMs = means.runtime.clock.nowMs()
  const begun = await means.store.begin({ audience: kept, nowMs })
  if (begun.kind === 'taken') return
  const copy = new BegunSync({ ...means, listener: deafListener }, begun)
  let copied = 0
  for await (const members of memberPages(from, kept.key)) {
    const result = await copy.take(members)
    if (result.kind !== 'taken') return
    copied += members.length
    means.listener.comparing?.(copied)
  }
  await copy.releaseAll(() => undefined)
}

const deafListener: SyncListener = {
  rejected: () => undefined,
  changed: () => undefined,
  progress: () => undefined,
}
