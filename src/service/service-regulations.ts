import type {
  RegulationOperations,
  RegulationOutcome,
  RegulationRequest,
} from '../admin-api/index.ts'
import { SettingError } from '../model/index.ts'
import {
  Regulations,
  type CreateRegulationOutcome,
  type Regulation,
  type RegulationsOptions,
  type RegulationsRequest,
} from '../privacy/index.ts'
import type { Archives } from './archives.ts'
import type { Configuration } from './configuration/index.ts'

/** What the regulations of a service are carried out with. */
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
}

/** Carries the deletion requests of a service out, in its store and its archives. */
export class ServiceRegulations implements RegulationOperations {
  readonly #regulations: Regulations

  constructor({ archives, archived, ...options }: ServiceRegulationsOptions) {
    this.#regulations = new Regulations({
      ...options,
      eraseArchives: async ({ sourceIds, ...request }) => {
        await archived()
        const { sources } = options.configuration()
        const affected = sources.filter(({ id }) => sourceIds?.includes(id) ?? true)
        return archives.erase({ ...request, sources: affected })
      },
    })
  }

  /** Goes on with what is not finished. */
  start(): Promise<void> {
    return this.#regulations.start()
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
  close(): Promise<void> {
    return this.#regulations.close()
  }

  find(request: { readonly id: string }): Promise<Regulation | undefined> {
    return this.#regulations.find(request)
  }

  list(request: RegulationsRequest): Promise<readonly Regulation[]> {
    return this.#regulations.list(request)
  }

  /** @throws SettingError for a request that names nobody, too many, or what is no id */
  async create(request: RegulationRequest): Promise<RegulationOutcome> {
    return understood(await this.#regulations.create(request))
  }
}

/** Whoever asks has checked the request; what is wrong with it nevertheless is a fault of theirs. */
function understood(outcome: CreateRegulationOutcome): RegulationOutcome {
  switch (outcome.kind) {
    case 'created':
      return outcome
    case 'unknown_source':
      return { kind: 'unknown_source', knownIds: outcome.knownIds }
    case 'no_users':
      throw new SettingError('userIds', 'Cannot make a regulation that is about nobody')
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
      throw new SettingError('sourceIds', 'Cannot make a regulation of no source')
  }
}
