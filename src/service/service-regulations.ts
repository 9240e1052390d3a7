import {
  Regulations,
  RegulationWatch,
  type EraseArchivesRequest,
  type ErasedArchives,
  type RegulationsOptions,
  type SharedRegulations,
} from '../privacy/index.ts'
import { keptArchives, withoutKept, type Archives } from './archives.ts'
import type { Configuration } from './configuration/index.ts'

interface ServiceRegulationsOptions extends Omit<
  RegulationsOptions,
  'configuration' | 'eraseArchives'
> {
  readonly configuration: () => Pick<Configuration, 'sources' | 'destinations'>
  readonly archives: Archives
  /** Resolves once all events that are stored are also archived. */
  readonly archived: () => Promise<unknown>
  /** Access to other processes that share the store; undefined to take no part in their regulations. */
  readonly shared?: SharedRegulations | undefined
  /** Whether this process may use the archives. If false, it leaves registered ones to the services that write them. */
  readonly keepsArchives: boolean
}

/** Carries out the deletion requests of a service, in its store and its archives. */
export class ServiceRegulations extends Regulations {
  readonly #options: ServiceRegulationsOptions
  readonly #watch: RegulationWatch | undefined

  constructor(options: ServiceRegulationsOptions) {
    super({ ...options, eraseArchives: (request) => this.#eraseArchives(request) })
    const { keepsArchives, shared, configuration, runtime } = options
    this.#options = options
    if (shared === undefined) return
    const newId = keepsArchives ? runtime.newId : undefined
    this.#watch = new RegulationWatch({
      // A process that leaves its archives to others registers none, but has to end its own replays of them.
      shared: keepsArchives ? shared : { ...shared, register: () => Promise.resolve() },
      archives: () => keptArchives(configuration().sources, newId),
      found: (regulations) => this.found(regulations),
      runtime,
    })
  }

  /** Registers the archives of this process in the shared store. Call it before the first write to them. */
  async register(): Promise<void> {
    await this.#watch?.register()
  }

  /** Resumes unfinished regulations; in a shared store, also those that other processes created. */
  override async start(): Promise<void> {
    if (this.#watch === undefined) await super.start()
    else this.#watch.start()
  }

  /** Looks for new regulations from other processes now. */
  async look(): Promise<void> {
    await this.#watch?.look()
  }

  /** Stops after the current step. Unfinished regulations stay in the store. */
  override async close(): Promise<void> {
    await Promise.all([super.close(), this.#watch?.close()])
  }

  async #eraseArchives({ sourceIds, ...request }: EraseArchivesRequest): Promise<ErasedArchives> {
    const { archives, archived, configuration, keepsArchives } = this.#options
    // Don't await anything before register(), which must read the same sources: all archives that it returns are
    // reported as erased, but only those of `sources` are erased below.
    const { sources } = configuration()
    const kept = (await this.#watch?.register()) ?? []
    await archived()
    const affected = sources.filter(({ id }) => sourceIds?.includes(id) ?? true)
    const own = keepsArchives ? affected : await withoutKept(affected)
    try {
      const erased = await archives.erase({ ...request, sources: own })
      return { ...erased, archiveIds: keepsArchives ? kept.map(({ id }) => id) : [] }
    } finally {
      if (!keepsArchives) archives.release()
    }
  }
}
