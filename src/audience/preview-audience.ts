import type { Audience } from './audience.ts'
import { BegunSync, memberPages, type SyncContext } from './begun-sync.ts'
import type { AudienceReader, AudienceStore } from './store-port.ts'
import type { SyncListener } from './sync-listener.ts'
import { syncAudience, type SyncOptions, type SyncOutcome } from './sync-audience.ts'

interface PreviewOptions extends Omit<SyncOptions, 'store' | 'destinations'> {
  /** The store with the audience, which is only read. */
  readonly store: AudienceReader
  /** An empty store. The dry run copies the members into it, and then writes there. */
  readonly scratch: AudienceStore
}

/**
 * Makes a dry run of a sync: reports and returns the same as the sync would, or throws its errors, without storing or
 * sending anything. Suppressed users count like other users.
 */
export async function previewAudience(options: PreviewOptions): Promise<SyncOutcome> {
  const { store, scratch } = options
  const { key, name, sourceId, computationClass } = options.audience
  const kept = (await store.list()).find((audience) => audience.key === key)
  // Without destinations, no deliveries are made.
  const context = { ...options, store: scratch, destinations: [] }
  if (kept === undefined) return syncAudience(context)
  if (kept.sourceId !== sourceId || kept.computationClass !== computationClass) {
    return { kind: 'taken', audience: kept }
  }
  await copyMembers(store, kept, context)
  const outcome = await syncAudience({ ...context, audience: { ...kept, name } })
  const { createdAtMs, syncedAtMs } = kept
  return { ...outcome, audience: { ...outcome.audience, createdAtMs, syncedAtMs } }
}

async function copyMembers(
  from: AudienceReader,
  kept: Audience,
  context: SyncContext,
): Promise<void> {
  const nowMs = context.runtime.clock.nowMs()
  const begun = await context.store.begin({ audience: kept, nowMs })
  if (begun.kind === 'taken') return
  const copy = new BegunSync({ ...context, listener: deafListener }, begun)
  let copied = 0
  for await (const members of memberPages(from, kept.key)) {
    const result = await copy.take(members)
    if (result.kind !== 'taken') return
    copied += members.length
    context.listener.comparing?.(copied)
  }
  await copy.releaseAll(() => undefined)
}

const deafListener: SyncListener = {
  rejected: () => undefined,
  changed: () => undefined,
  progress: () => undefined,
}
