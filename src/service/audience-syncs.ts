import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type {
  AudienceOperations,
  AudienceRefusal,
  AudienceRemoveOutcome,
  AudienceRemoveRequest,
  AudienceSyncOutcome,
  AudienceSyncRequest,
} from '../admin-api/index.ts'
import {
  checkKey,
  newComputationId,
  previewAudience,
  propertyName,
  removeAudience,
  syncAudience,
  type Audience,
  type AudienceStore,
  type Member,
  type MembersRequest,
  type NewAudience,
  type SyncOptions,
} from '../audience/index.ts'
import { readTable } from '../importer/index.ts'
import { sleep, type Runtime } from '../runtime/index.ts'
import { openStore } from '../store/index.ts'
import type { Configuration } from './configuration/index.ts'

/** What syncs are made of. */
export interface AudienceSyncsOptions {
  /** Where audiences are kept. */
  readonly store: AudienceStore
  /** The sources, where their calls may go, and how long messageIds are remembered. */
  readonly configuration: () => Pick<Configuration, 'sources' | 'destinations' | 'retention'>
  /** Has whoever dispatches look for new deliveries. */
  readonly wake: () => void
  /** Whether so much waits that a sync would take the room of what sources send. */
  readonly isFull: () => boolean
  /** Clock, ids and log. */
  readonly runtime: Runtime
  /** Aborts when nothing is to be begun any more, and what is under way is to end. */
  readonly ending: AbortSignal
}

/** How often a sync looks whether there is room again. */
const roomLookMs = 500

/** Syncs audiences and computed traits, one sync of each at a time. */
export class AudienceSyncs implements AudienceOperations {
  readonly #options: AudienceSyncsOptions
  readonly #running = new Set<string>()

  constructor(options: AudienceSyncsOptions) {
    this.#options = options
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
    const choice = await this.#choose(request)
    if (choice.kind !== 'chosen') return choice
    return this.#alone(choice.audience.key, async () => {
      const { columns, isDryRun } = request
      const options = {
        ...this.#syncOptions(choice.audience, request),
        rows: readTable(list),
        columns,
      }
      if (isDryRun) return withScratchStore((scratch) => previewAudience({ ...options, scratch }))
      return syncAudience(options)
    })
  }

  async remove(request: AudienceRemoveRequest): Promise<AudienceRemoveOutcome> {
    const { key, isDryRun } = request
    const audiences = await this.list()
    const audience = audiences.find((candidate) => candidate.key === key)
    if (audience === undefined) {
      return { kind: 'unknown_audience', knownKeys: audiences.map((known) => known.key) }
    }
    return this.#alone(key, () =>
      removeAudience({ ...this.#syncOptions(audience, request), isDryRun }),
    )
  }

  /** One at a time: a second one would only supersede the first. */
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

  #syncOptions(
    audience: NewAudience,
    { listener, signal, drained, isDryRun }: AudienceRemoveRequest | AudienceSyncRequest,
  ): Omit<SyncOptions, 'rows' | 'columns'> {
    const { store, runtime, ending, configuration, wake } = this.#options
    const { destinations, retention } = configuration()
    const anySignal = AbortSignal.any([signal, ending])
    return {
      store,
      audience,
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
        return isDryRun ? !anySignal.aborted : this.#hasRoom(anySignal)
      },
      dedupeWindowMs: retention.messageIdsMs,
      runtime,
      signal: anySignal,
    }
  }

  /** Resolves once there is room, with true; with false as soon as the signal aborts. */
  async #hasRoom(signal: AbortSignal): Promise<boolean> {
    const { isFull, runtime } = this.#options
    while (!signal.aborted && isFull()) await sleep(runtime.clock, roomLookMs, signal)
    return !signal.aborted
  }

  /** Which audience a request means, and what it is called. */
  async #choose(
    request: AudienceSyncRequest,
  ): Promise<{ readonly kind: 'chosen'; readonly audience: NewAudience } | AudienceRefusal> {
    const choice = chooseKey(request)
    if (choice.kind !== 'chosen') return choice
    const { key } = choice
    const known = (await this.list()).find((audience) => audience.key === key)
    const { sources } = this.#options.configuration()
    const knownIds = sources.map(({ id }) => id)
    const sourceId = request.sourceId ?? known?.sourceId ?? onlyOne(knownIds)
    if (sourceId === undefined || !knownIds.includes(sourceId)) {
      return { kind: 'unknown_source', knownIds }
    }
    const { computationClass, name = known?.name ?? key } = request
    const computationId =
      known?.computationId ?? newComputationId(computationClass, this.#options.runtime)
    return { kind: 'chosen', audience: { key, name, computationClass, computationId, sourceId } }
  }
}

/** The key that is given, or else made of the name. */
function chooseKey({
  key: given,
  name = '',
}: AudienceSyncRequest): { readonly kind: 'chosen'; readonly key: string } | AudienceRefusal {
  const key = given ?? propertyName(name)
  if (key === undefined) return { kind: 'unusable_name', message: noKey }
  const problem = checkKey(key)
  return problem === undefined
    ? { kind: 'chosen', key }
    : { kind: 'unusable_name', message: problem }
}

function onlyOne(ids: readonly string[]): string | undefined {
  return ids.length === 1 ? ids[0] : undefined
}

const noKey = 'No property can be made of the name: it has neither letters nor digits'

/** An empty store for as long as the work takes: a list may be longer than memory. */
async function withScratchStore<Result>(
  work: (scratch: AudienceStore) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'evroute-preview-'))
  try {
    const store = await openStore(`sqlite:${join(folder, 'preview.db')}`)
    try {
      return await work(store.audiences)
    } finally {
      await store.close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
