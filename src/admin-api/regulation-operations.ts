import { listedRegulationRecord, regulationRecord } from '../privacy/index.ts'
import { notFound, pageOf, record, refuse } from './answer.ts'
import { get, operation, post, type ApiOperation } from './operation.ts'
import type { AdminApiOptions } from './ports.ts'
import { regulationBytesMax, regulationReader, regulationsReader } from './regulation-requests.ts'

/** Returns the operations that list, show and create deletion requests. */
export function regulationOperations({
  regulations,
}: Pick<AdminApiOptions, 'regulations'>): readonly ApiOperation[] {
  return [
    operation({
      ...get('/regulations', 'regulations', 'A page of regulations'),
      reads: regulationsReader,
      run: async ({ limit, beforeId }) => {
        const found = await regulations.list({ limit: limit + 1, beforeId })
        const { rows, last } = pageOf(found, limit)
        return record({
          kind: 'regulations',
          regulations: rows.map(listedRegulationRecord),
          next: last?.id ?? null,
        })
      },
    }),
    operation({
      ...post('/regulations', 'regulation', 'Deletes or suppresses users'),
      reads: regulationReader,
      bodyBytesMax: regulationBytesMax,
      run: async (request) => {
        const outcome = await regulations.create(request)
        return outcome.kind === 'created'
          ? record(regulationRecord(outcome.regulation))
          : notFound('source', outcome.knownIds)
      },
    }),
    operation({
      ...get('/regulations/{id}', 'regulation', 'A regulation, and what was erased and sent'),
      run: async (_, { params }) => {
        const regulation = await regulations.find({ id: String(params['id']) })
        return regulation === undefined
          ? refuse('not_found', 'There is no such regulation')
          : record(regulationRecord(regulation))
      },
    }),
  ]
}
