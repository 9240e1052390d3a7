import type { RegulationOperations } from '../admin-api/index.ts'
import {
  Regulations,
  RegulationWatch,
  type CreateRegulationOutcome,
  type EraseArchivesRequest,
  type ErasedArchives,
  type Regulation,
  type RegulationRequest,
  type RegulationsOptions,
  type RegulationsRequest,
  type SharedRegulations,
} from '../privacy/index.ts'
import { keptArchives, withoutKept, type Archives } from './archives.ts'
import type { Configuration } from './configuration/index.ts'

interface ServiceRegulationsOptions extends Pick<RegulationsOptions, 'store' | 'wake' | 'runtime'> {
  readonly configuration: () => Pick<Configuration, 'sources' | 'destinations'>
  readonly archives: Archives
  /** Resolves once all events that are stored are also archived. */
  readonly archived: () => Promise<unknown>
  /** Ends the running replay; undefined if this process never replays. */
  readonly endReplays?: () => Promise<void>
  /** The port for processes that share the store; undefined if the store can't be shared. */
  readonly shared?: SharedRegulations | undefined
  /** Whether this process carries out regulations (the default), or only erases from its own archives. */
  readonly carriesOut?: boolean
  /** Whether this process writes to archives (the default). If not, it doesn't erase from registered archives. */
  readonly keepsArchives?: boolean
}

/** Carries out the deletion requests of a service, in its store and its archives. */
export class ServiceRegulations implements RegulationOperations {
  readonly #options: ServiceRegulationsOptions
  readonly #regulations: Regulations
  readonly #watch: RegulationWatch | undefined

  constructor(options: ServiceRegulationsOptions) {
    const { carriesOut = true, keepsArchives = true, shared, configuration, runtime } = options
    this.#options = options
    this.#regulations = new Regulations({
      ...options,
      erasesStore: carriesOut,
      eraseArchives: (request) => this.#eraseArchives(request),
    })
    if (shared === undefined || !keepsArchives) return
    this.#watch = new RegulationWatch({
      shared,
      archives: () => keptArchives(configuration().sources, runtime.newId),
      found: (regulations) => this.#regulations.found(regulations),
      runtime,
    })
  }

  /** Registers the archives of this process in the shared store. Call it before the first write to them. */
  async register(): Promise<void> {
    await this.#watch?.register()
  }

  /** Resumes unfinished regulations; in a shared store, also those that other processes created. */
  async start(): Promise<void> {
    if (this.#watch === undefined) await this.#regulations.start()
    else this.#watch.start()
  }

  /** Looks for new regulations from other processes now. */
  async look(): Promise<void> {
    await this.#watch?.look()
  }

  /** Whether a regulation still has to erase users from archives. */
  get holdsArchives(): boolean {
    return this.#regulations.holdsArchives
  }

  /** Resolves once every regulation is finished, or waits for something other than this process. */
  idle(): Promise<void> {
    return this.#regulations.idle()
  }

  /** Stops after the current step. Unfinished regulations stay in the store. */
  async close(): Promise<void> {
    await Promise.all([this.#regulations.close(), this.#watch?.close()])
  }

  find(request: { readonly id: string }): Promise<Regulation | undefined> {
    return this.#regulations.find(request)
  }

  list(request: RegulationsRequest): Promise<readonly Regulation[]> {
    return this.#regulations.list(request)
  }

  create(request: RegulationRequest): Promise<CreateRegulationOutcome> {
    return this.#regulations.create(request)
  }

  async #eraseArchives({ sourceIds, ...request }: EraseArchivesRequest): Promise<ErasedArchives> {
    const { archives, archived, configuration, shared, keepsArchives = true } = this.#options
    // Don't await anything between this line and register(), which reads the sources too. Each archive that is reported
    // as erased must belong to one of these sources.
    const { sources } = configuration()
    const kept = (await this.#watch?.register()) ?? []
    await archived()
    const affected = sources.filter(({ id }) => sourceIds?.includes(id) ?? true)
    const isOwn = shared === undefined || keepsArchives
    const own = isOwn ? affected : await withoutKept(affected)
    const erased = await archives.erase({ ...request, sources: own })
    return { ...erased, archiveIds: kept.map(({ id }) => id) }
  }
}
