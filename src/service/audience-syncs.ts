import type {
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
  type SyncMeans,
} from '../audience/index.ts'
import type { Destination } from '../model/index.ts'
import type { Log, Runtime } from '../runtime/index.ts'
import { AudiencePreviews } from './audience-previews.ts'
import { chooseAudience, findAudience, readList } from './choose-audience.ts'
import type { Configuration } from './configuration/index.ts'

interface AudienceSyncsOptions {
  readonly store: AudienceStore
  readonly configuration: () => Pick<Configuration, 'sources' | 'destinations' | 'retention'>
  readonly wake: () => void
  /** Resolves with true once the backlogs have room, or with false when the signal aborts. */
  readonly hasRoom: (destinations: readonly Destination[], signal: AbortSignal) => Promise<boolean>
  readonly runtime: Runtime
  readonly ending: AbortSignal
}

/** Syncs and removes audiences and computed traits. Each of them has at most one sync or removal at a time. */
export class AudienceSyncs extends AudiencePreviews {
  readonly #options: AudienceSyncsOptions
  readonly #running = new Set<string>()

  constructor(options: AudienceSyncsOptions) {
    super(options)
    this.#options = options
  }

  override async sync(
    request: AudienceSyncRequest,
    list: AsyncIterable<Uint8Array>,
  ): Promise<AudienceSyncOutcome> {
    const choice = await chooseAudience(request, this.#options)
    if (choice.kind !== 'chosen') return choice
    const { audience } = choice
    return this.#alone(audience.key, async () => {
      if (request.isDryRun) return super.sync(request, list)
      const means = this.#means(request, audience)
      const { columns } = request
      const outcome = await syncAudience({ ...means, audience, rows: readList(list), columns })
      logSync(outcome, this.#options.runtime.log)
      return outcome
    })
  }

  override async remove(request: AudienceRemoveRequest): Promise<AudienceRemoveOutcome> {
    const choice = await findAudience(request.key, this)
    if (choice.kind !== 'chosen') return choice
    const { audience } = choice
    return this.#alone(audience.key, async () => {
      if (request.isDryRun) return super.remove(request)
      const outcome = await removeAudience({ ...this.#means(request, audience), audience })
      logRemoval(outcome, this.#options.runtime.log)
      return outcome
    })
  }

  /** Refuses a second sync or removal of an audience while one runs, because it would end the first one. */
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
    const { store, runtime, ending, configuration, wake, hasRoom } = this.#options
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
        return hasRoom(connected, anySignal)
      },
      dedupeWindowMs: retention.messageIdsMs,
      runtime,
      signal: anySignal,
    }
  }
}

/** Logs the outcome of a sync, without user ids. */
function logSync(outcome: AudienceSyncOutcome, log: Log): void {
  if (!('counts' in outcome)) return
  const { kind, audience, counts } = outcome
  const { key, computationClass } = audience
  const { entered, changed, left, rejected } = counts
  const isWhole = kind === 'synced' || kind === 'incomplete'
  log.info(isWhole ? 'an audience was synced' : 'a sync of an audience ended early', {
    ...{ key, class: computationClass, outcome: kind },
    ...{ entered, changed, left, rejected },
  })
}

function logRemoval(outcome: AudienceRemoveOutcome, log: Log): void {
  if (!('left' in outcome)) return
  const { kind, audience, left } = outcome
  const { key, computationClass } = audience
  const isWhole = kind === 'removed'
  log.info(isWhole ? 'an audience was removed' : 'a removal of an audience ended early', {
    ...{ key, class: computationClass, outcome: kind, left },
  })
}
