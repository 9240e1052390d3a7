import type {
  AudienceRemoveOutcome,
  AudienceRemoveRequest,
  AudienceSyncOutcome,
  AudienceSyncRequest,
} from '../admin-api/index.ts'
import {
  removeAudience,
  syncAudience,
  type Audience,
  type AudienceRefusal,
  type AudienceStore,
  type SyncContext,
} from '../audience/index.ts'
import type { Destination } from '../model/index.ts'
import type { LogFields, Runtime } from '../runtime/index.ts'
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
      const context = this.#syncContext(request, audience)
      const { columns } = request
      const outcome = await syncAudience({ ...context, audience, rows: readList(list), columns })
      if (outcome.kind !== 'taken') {
        const isWhole = outcome.kind === 'synced' || outcome.kind === 'incomplete'
        const { entered, changed, left, rejected } = outcome.counts
        const text = isWhole ? 'an audience was synced' : 'a sync of an audience ended early'
        this.#log(text, outcome, { entered, changed, left, rejected })
      }
      return outcome
    })
  }

  override async remove(request: AudienceRemoveRequest): Promise<AudienceRemoveOutcome> {
    const choice = await findAudience(request.key, this)
    if (choice.kind !== 'chosen') return choice
    const { audience } = choice
    return this.#alone(audience.key, async () => {
      if (request.isDryRun) return super.remove(request)
      const outcome = await removeAudience({ ...this.#syncContext(request, audience), audience })
      const isWhole = outcome.kind === 'removed'
      const text = isWhole ? 'an audience was removed' : 'a removal of an audience ended early'
      this.#log(text, outcome, { left: outcome.left })
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

  #syncContext(
    request: Omit<AudienceRemoveRequest, 'key'>,
    { sourceId }: Pick<Audience, 'sourceId'>,
  ): SyncContext {
    const { store, configuration, wake, hasRoom } = this.#options
    const { destinations, retention } = configuration()
    const connected = destinations.filter(({ sourceIds }) => sourceIds.includes(sourceId))
    const context = super.contextOf(request)
    const { listener, signal } = context
    return {
      ...context,
      store,
      destinations,
      dedupeWindowMs: retention.messageIdsMs,
      listener: {
        rejected: (row) => listener.rejected(row),
        changed: (changes) => listener.changed(changes),
        progress: (counts) => {
          wake()
          listener.progress(counts)
        },
      },
      hasRoom: async () => (await context.hasRoom()) && hasRoom(connected, signal),
    }
  }

  /** Logs the outcome of a sync or a removal, without user ids. */
  #log(
    text: string,
    { kind, audience }: { kind: string; audience: Audience },
    counts: LogFields,
  ): void {
    const { key, computationClass } = audience
    this.#options.runtime.log.info(text, {
      ...{ key, class: computationClass, outcome: kind },
      ...counts,
    })
  }
}
