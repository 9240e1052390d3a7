import type { RegulationOperations, RegulationRequest } from '../../admin-api/index.ts'
import {
  listedRegulationRecord,
  regulationRecord,
  type RegulationReader,
} from '../../privacy/index.ts'
import {
  readListedRegulation,
  readRegulation,
  type ListedRegulation,
  type ToldRegulation,
} from './read-records.ts'

/** What is known of regulations, as the records of programs have it. */
export interface RegulationRecords {
  /** One regulation; undefined when there is none. */
  find(id: string): Promise<ToldRegulation | undefined>
  /** Regulations, the newest first. */
  list(request: {
    readonly limit: number
    readonly beforeId?: string | undefined
  }): Promise<readonly ListedRegulation[]>
}

/** What became of a request for a regulation. */
export type CreatedRegulation =
  | { readonly kind: 'created'; readonly id: string }
  | { readonly kind: 'unknown_source'; readonly knownIds: readonly string[] }

/** Where deletion requests are handed in, and asked about. */
export interface AskedRegulations extends RegulationRecords {
  /** Stores a regulation; what it asks for is done after the answer. */
  create(request: RegulationRequest): Promise<CreatedRegulation>
}

/** The regulations of a store as the records of programs. */
export function regulationRecords(reader: RegulationReader): RegulationRecords {
  return {
    find: async (id) => {
      const regulation = await reader.find({ id })
      return regulation && known(readRegulation(regulationRecord(regulation)))
    },
    list: async (request) => {
      const found = await reader.list(request)
      return found.map((regulation) =>
        known(readListedRegulation(listedRegulationRecord(regulation))),
      )
    },
  }
}

/** A service of this process, asked as any other. */
export function askedRegulations(operations: RegulationOperations): AskedRegulations {
  return {
    ...regulationRecords(operations),
    create: async (request) => {
      const outcome = await operations.create(request)
      return outcome.kind === 'created' ? { kind: 'created', id: outcome.regulation.id } : outcome
    },
  }
}

function known<Read>(read: Read | undefined): Read {
  if (read === undefined) throw new Error('The record of a regulation is not what it should be')
  return read
}
