import { listedRegulationRecord, regulationRecord } from '../privacy/index.ts'
import { notFound, record, refuse, unknownItem } from './answer.ts'
import type { ApiOperation, Operation } from './operation.ts'
import type { AdminApiOptions, RegulationOperations } from './ports.ts'
import type { RegulationsRecord } from './records.ts'
import {
  readRegulationRequest,
  readRegulationsQuery,
  regulationBytesMax,
} from './regulation-requests.ts'

/** Returns the operations on deletion requests. */
export function regulationOperations({
  regulations,
}: Pick<AdminApiOptions, 'regulations'>): readonly ApiOperation[] {
  return [
    { path: '/regulations', method: 'get', operation: listOperation(regulations) },
    {
      path: '/regulations',
      method: 'post',
      operation: createOperation(regulations),
      bodyBytesMax: regulationBytesMax,
    },
    { path: '/regulations/:id', method: 'get', operation: showOperation(regulations) },
  ]
}

function listOperation(regulations: RegulationOperations): Operation {
  return async ({ query }) => {
    const reading = readRegulationsQuery(query)
    if (reading.kind === 'refused') return refuse(reading.refusal)
    const { limit, beforeId } = reading.value
    // Ask for one more regulation, to learn whether there is a next page.
    const found = await regulations.list({ limit: limit + 1, beforeId })
    const page = found.slice(0, limit)
    const next = found.length > limit ? (page.at(-1)?.id ?? null) : null
    const listed = page.map(listedRegulationRecord)
    return record({ kind: 'regulations', regulations: listed, next } satisfies RegulationsRecord)
  }
}

function showOperation(regulations: RegulationOperations): Operation {
  return async ({ params }) => {
    const regulation = await regulations.find({ id: String(params['id']) })
    return regulation === undefined
      ? unknownItem('regulation')
      : record(regulationRecord(regulation))
  }
}

function createOperation(regulations: RegulationOperations): Operation {
  return async ({ body }) => {
    const reading = readRegulationRequest(body)
    if (reading.kind === 'refused') return refuse(reading.refusal)
    const outcome = await regulations.create(reading.value)
    switch (outcome.kind) {
      case 'created':
        return record(regulationRecord(outcome.regulation))
      case 'unknown_source':
        return refuse(notFound('source', outcome.knownIds))
    }
  }
}
