import type {
  AudienceOperations,
  AudienceRemoveOutcome,
  AudienceRemoveRequest,
  AudienceSyncOutcome,
  AudienceSyncRequest,
} from '../admin-api/index.ts'
import {
  previewAudience,
  previewRemoval,
  type Audience,
  type AudienceReader,
  type Member,
  type MembersRequest,
  type SyncContext,
} from '../audience/index.ts'
import type { Runtime } from '../runtime/index.ts'
import { openTemporaryStore } from '../store/index.ts'
import { chooseAudience, findAudience, readList } from './choose-audience.ts'
import type { Configuration } from './configuration/index.ts'

interface AudiencePreviewsOptions {
  readonly store: AudienceReader
  readonly configuration: () => Pick<Configuration, 'sources' | 'retention'>
  readonly runtime: Runtime
  readonly ending: AbortSignal
}

/** Runs every sync and removal as a dry run, which reports the changes but stores and sends nothing. */
export class AudiencePreviews implements AudienceOperations {
  readonly #options: AudiencePreviewsOptions

  constructor(options: AudiencePreviewsOptions) {
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
    const choice = await chooseAudience(request, this.#options)
    if (choice.kind !== 'chosen') return choice
    const { store, configuration } = this.#options
    // The members may not fit in memory, and a transaction in the service's store would block other writers.
    const scratch = await openTemporaryStore()
    try {
      return await previewAudience({
        ...this.contextOf(request),
        store,
        audience: choice.audience,
        columns: request.columns,
        dedupeWindowMs: configuration().retention.messageIdsMs,
        rows: readList(list),
        scratch: scratch.audiences,
      })
    } finally {
      await scratch.close()
    }
  }

  async remove(request: AudienceRemoveRequest): Promise<AudienceRemoveOutcome> {
    const { store } = this.#options
    const choice = await findAudience(request.key, store)
    if (choice.kind !== 'chosen') return choice
    return previewRemoval({ ...this.contextOf(request), store, audience: choice.audience })
  }

  /** Returns the parts of a context that real runs and dry runs share. */
  protected contextOf({
    listener,
    signal: given,
    drained,
  }: Omit<AudienceRemoveRequest, 'key'>): Pick<
    SyncContext,
    'listener' | 'hasRoom' | 'runtime' | 'signal'
  > {
    const { runtime, ending } = this.#options
    const signal = AbortSignal.any([given, ending])
    const hasRoom = async (): Promise<boolean> => {
      await drained?.()
      return !signal.aborted
    }
    return { listener, hasRoom, runtime, signal }
  }
}
