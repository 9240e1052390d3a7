import type { RegulationOperations, RegulationOutcome } from '../admin-api/index.ts'
import { SettingError } from '../model/index.ts'
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

/** The parts that {@link ServiceRegulations} needs. */
export interface ServiceRegulationsOptions extends Pick<
  RegulationsOptions,
  'store' | 'wake' | 'runtime'
> {
  /** The sources, those with an archive, and where notifications may go. */
  readonly configuration: () => Pick<Configuration, 'sources' | 'destinations'>
  /** Where events of sources are kept. */
  readonly archives: Archives
  /** Resolves once events that are stored already are archived as well. */
  readonly archived: () => Promise<unknown>
  /** Ends the replay of an archive that is under way; none where this process replays nothing. */
  readonly endReplays?: () => Promise<void>
  /** What is known of other processes that use the store; undefined where there are none. */
  readonly shared?: SharedRegulations | undefined
  /**
   * Whether all that regulations ask for is done, as by default, or only the archives are erased that
   * this process keeps: others do the rest.
   */
  readonly carriesOut?: boolean
  /** Whether this process writes to archives, as by default; what it only finds there others erase. */
  readonly keepsArchives?: boolean
}

/** Carries the deletion requests of a service out, in its store and its archives. */
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

  /**
   * Lets others who use the store know which archives this process keeps; before something is written to
   * them.
   */
  async register(): Promise<void> {
    await this.#watch?.register()
  }

  /** Goes on with what is not finished; where others use the store, also with what they leave. */
  async start(): Promise<void> {
    if (this.#watch === undefined) await this.#regulations.start()
    else this.#watch.start()
  }

  /** Looks at once for what others who use the store have stored. */
  async look(): Promise<void> {
    await this.#watch?.look()
  }

  /** Whether archives may still have what a regulation wants erased of them. */
  get holdsArchives(): boolean {
    return this.#regulations.holdsArchives
  }

  /** Resolves when nothing is left but what waits for deliveries to come to their end. */
  idle(): Promise<void> {
    return this.#regulations.idle()
  }

  /** Ends after the step under way; what is not finished stays in the store. */
  async close(): Promise<void> {
    await Promise.all([this.#regulations.close(), this.#watch?.close()])
  }

  find(request: { readonly id: string }): Promise<Regulation | undefined> {
    return this.#regulations.find(request)
  }

  list(request: RegulationsRequest): Promise<readonly Regulation[]> {
    return this.#regulations.list(request)
  }

  /** @throws SettingError for a request without ids, with too many, or with one that is invalid */
  async create(request: RegulationRequest): Promise<RegulationOutcome> {
    return understood(await this.#regulations.create(request))
  }

  async #eraseArchives({ sourceIds, ...request }: EraseArchivesRequest): Promise<ErasedArchives> {
    const { archives, archived, configuration } = this.#options
    // Of this very moment, as those are that are registered: what is noted was erased.
    const { sources } = configuration()
    const kept = (await this.#watch?.register()) ?? []
    await archived()
    const affected = sources.filter(({ id }) => sourceIds?.includes(id) ?? true)
    const erased = await archives.erase({ ...request, sources: await this.#own(affected) })
    return { ...erased, archiveIds: kept.map(({ id }) => id) }
  }

  /** The sources whose archives are this process's to erase. */
  async #own(sources: Configuration['sources']): Promise<Configuration['sources']> {
    const { shared, keepsArchives = true } = this.#options
    return shared === undefined || keepsArchives ? sources : withoutKept(sources)
  }
}

/** Returns `created` and `unknown_source`, and throws the rest: callers check the request first. */
function understood(outcome: CreateRegulationOutcome): RegulationOutcome {
  switch (outcome.kind) {
    case 'created':
      return outcome
    case 'unknown_source':
      return { kind: 'unknown_source', knownIds: outcome.knownIds }
    case 'no_users':
      throw new SettingError('userIds', 'Cannot make a regulation without a user id')
    case 'too_many_users': {
      const message = `Cannot make a regulation about ${outcome.users} users: ${outcome.usersMax} is the most`
      throw new SettingError('userIds', message)
    }
    case 'invalid_user_id': {
      const { index, lengthMax } = outcome
      const message = `Cannot use user id ${index + 1}: it is a text of 1 to ${lengthMax} characters`
      throw new SettingError('userIds', message)
    }
    case 'no_sources':
      throw new SettingError('sourceIds', 'Cannot make a regulation with an empty list of sources')
  }
}
