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

/** Reads regulations, with the records that programs get. */
export interface RegulationRecords {
  /** One regulation; undefined if it does not exist. */
  find(id: string): Promise<ToldRegulation | undefined>
  /** Regulations, newest first. */
  list(request: {
    readonly limit: number
    readonly beforeId?: string | undefined
  }): Promise<readonly ListedRegulation[]>
}

/** The outcome of a request for a regulation. */
export type CreatedRegulation =
  | { readonly kind: 'created'; readonly id: string }
  | { readonly kind: 'unknown_source'; readonly knownIds: readonly string[] }

/** Creates and reads deletion requests. */
export interface AskedRegulations extends RegulationRecords {
  /** Stores a regulation. The service carries it out after the answer. */
  create(request: RegulationRequest): Promise<CreatedRegulation>
}

/** The regulations of a store. */
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

/** The regulations of a service in this process. */
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
