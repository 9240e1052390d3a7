import type { RegulationsRecord } from '../../admin-api/index.ts'
import type {
  ListedRegulationFields,
  RegulationRequest,
  WholeRegulationFields,
} from '../../privacy/index.ts'
import type { RegulationRecords } from './readers.ts'
import type { ServiceApi } from './service-api.ts'

/** The outcome of a request for a regulation. */
export type CreatedRegulation =
  | { readonly kind: 'created'; readonly id: string }
  | { readonly kind: 'unknown_source'; readonly knownIds: readonly string[] }

/** Creates and reads deletion requests. */
export interface ChangedRegulations extends RegulationRecords {
  /** Stores a regulation. The service carries it out after the answer. */
  create(request: RegulationRequest): Promise<CreatedRegulation>
}

/** The deletion requests of a running service. */
export class RemoteRegulations implements ChangedRegulations {
  readonly #api: ServiceApi

  constructor(api: ServiceApi) {
    this.#api = api
  }

  /** @throws EvrouteError for a refusal of the service, such as an unknown source */
  async create({ type, userIds, sourceIds }: RegulationRequest): Promise<CreatedRegulation> {
    const sources = sourceIds === null ? {} : { sources: sourceIds }
    const body = {
      ...{ regulationType: type, subjectType: 'USER_ID', subjectIds: userIds },
      ...sources,
    }
    const question = { path: 'v1/regulations', body }
    const { id } = await this.#api.read<WholeRegulationFields>(question, 'regulation')
    return { kind: 'created', id }
  }

  find(id: string): Promise<WholeRegulationFields | undefined> {
    return this.#api.find(`v1/regulations/${encodeURIComponent(id)}`, 'regulation')
  }

  async list(request: {
    readonly limit: number
    readonly beforeId?: string | undefined
  }): Promise<readonly ListedRegulationFields[]> {
    const { limit, beforeId } = request
    const query = new URLSearchParams({ limit: String(limit) })
    if (beforeId !== undefined) query.set('before', beforeId)
    const question = { path: `v1/regulations?${query.toString()}` }
    return (await this.#api.read<RegulationsRecord>(question, 'regulations')).regulations
  }
}
