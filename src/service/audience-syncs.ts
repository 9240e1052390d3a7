import type {
  AudienceOperations,
  AudienceRefusal,
  AudienceRemoveOutcome,
  AudienceRemoveRequest,
  AudienceSyncOutcome,
  AudienceSyncRequest,
} from '../admin-api/index.ts'
import {
  removeAudience,
  syncAudience,
  type Audience,
  type AudienceStore,
  type Member,
  type MembersRequest,
  type SyncMeans,
} from '../audience/index.ts'
import type { Destination } from '../model/index.ts'
import { sleep, type Runtime } from '../runtime/index.ts'
import { logRemoval, logSync } from './audience-log.ts'
import { AudiencePreviews } from './audience-previews.ts'
import { chooseAudience, findAudience } from './choose-audience.ts'
import type { Configuration } from './configuration/index.ts'
import { readList } from './read-list.ts'

/** What {@link AudienceSyncs} needs. */
export interface AudienceSyncsOptions {
  readonly store: AudienceStore
  /** The current sources and destinations, and how long messageIds are remembered. */
  readonly configuration: () => Pick<Configuration, 'sources' | 'destinations' | 'retention'>
  /** Makes the dispatcher look for new deliveries. */
  readonly wake: () => void
  /** Whether the backlog of a destination is so full that a sync must leave the remaining room to sources. */
  readonly isFull: (destinations: readonly Destination[]) => Promise<boolean>
  readonly runtime: Runtime
  /** Aborts to end running syncs. */
  readonly ending: AbortSignal
}

/** How often a sync that waits for room checks again. */
const roomLookMs = 500

/** Syncs and removes audiences and computed traits, each of them once at a time. */
export class AudienceSyncs implements AudienceOperations {
  readonly #options: AudienceSyncsOptions
  readonly #previews: AudiencePreviews
  readonly #running = new Set<string>()

  constructor(options: AudienceSyncsOptions) {
    this.#options = options
    this.#previews = new AudiencePreviews(options)
  }

  list(): Promise<readonly Audience[]> {
    return this.#options.store.list()
  }

  members(request: MembersRequest): Promise<readonly Member[]> {
    return this.#options.store.members(request)
  }

  async sync(
    request: AudienceSyncRequest,
    list: AsyncIterable<Uint8Array>,
  ): Promise<AudienceSyncOutcome> {
    const choice = await chooseAudience(request, this.#options)
    if (choice.kind !== 'chosen') return choice
    const { audience } = choice
    const { columns, isDryRun } = request
    return this.#alone(audience.key, async () => {
      if (isDryRun) return this.#previews.sync(request, list)
      const rows = readList(list)
      const outcome = await syncAudience({
        ...this.#means(request, audience),
        audience,
        rows,
        columns,
      })
      logSync(outcome, this.#options.runtime.log)
      return outcome
    })
  }

  async remove(request: AudienceRemoveRequest): Promise<AudienceRemoveOutcome> {
    const choice = await findAudience(request.key, this)
    if (choice.kind !== 'chosen') return choice
    const { audience } = choice
    return this.#alone(audience.key, async () => {
      if (request.isDryRun) return this.#previews.remove(request)
      const outcome = await removeAudience({ ...this.#means(request, audience), audience })
      logRemoval(outcome, this.#options.runtime.log)
      return outcome
    })
  }

  /**
   * Refuses a second sync or removal of an audience while one runs, because it would only supersede the first.
   */
  async #alone<Outcome>(
    key: string,
    work: () => Promise<Outcome>,
  ): Promise<Outcome | AudienceRefusal> {
    if (this.#running.has(key)) return { kind: 'running', key }
    this.#running.add(key)
    try {
      return await work()
    } finally {
      this.#running.delete(key)
      this.#options.wake()
    }
  }

  #means(
    { listener, signal, drained }: AudienceRemoveRequest | AudienceSyncRequest,
    { sourceId }: Pick<Audience, 'sourceId'>,
  ): SyncMeans {
    const { store, runtime, ending, configuration, wake } = this.#options
    const { destinations, retention } = configuration()
    const anySignal = AbortSignal.any([signal, ending])
    const connected = destinations.filter(({ sourceIds }) => sourceIds.includes(sourceId))
    return {
      store,
      destinations,
      listener: {
        rejected: (row) => listener.rejected(row),
        changed: (changes) => listener.changed(changes),
        progress: (counts) => {
          wake()
          listener.progress(counts)
        },
      },
      hasRoom: async () => {
        await drained?.()
        return this.#hasRoom(connected, anySignal)
      },
      dedupeWindowMs: retention.messageIdsMs,
      runtime,
      signal: anySignal,
    }
  }

  /** Resolves with true once there is room, or with false when the signal aborts. */
  async #hasRoom(destinations: readonly Destination[], signal: AbortSignal): Promise<boolean> {
    const { isFull, runtime } = this.#options
    while (!signal.aborted && (await isFull(destinations))) {
      await sleep(runtime.clock, roomLookMs, signal)
    }
    return !signal.aborted
  }
}
