import { z } from 'zod'
import { regulationTypes } from '../model/index.ts'
import { listedRegulationRecord, regulationRecord, regulationUsersMax } from '../privacy/index.ts'
import { notFound, pageOf, record, refuse } from './answer.ts'
import { get, operation, post, type ApiOperation } from './operation.ts'
import type { AdminApiOptions } from './ports.ts'
import { accepts, fields, oneOf, pageLimit, text, texts } from './read-fields.ts'

/** Maximum number of sources in a request. A regulation without sources applies to all of them. */
const sourcesMax = 1_000

/** Maximum size of a request, enough for the maximum number of user ids of usual length. */
const regulationBytesMax = 2 * 1024 * 1024

/** Returns the operations that list, show and create deletion requests. */
export function regulationOperations({
  regulations,
}: Pick<AdminApiOptions, 'regulations'>): readonly ApiOperation[] {
  return [
    operation({
      ...get('/regulations', 'regulations', 'A page of regulations'),
      reads: fields({ limit: pageLimit, before: text.optional() }),
      run: async ({ limit, before: beforeId }) => {
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
      reads: fields(
        {
          regulationType: oneOf(regulationTypes),
          subjectType: z.literal('USER_ID', accepts('USER_ID')).optional(),
          subjectIds: texts(regulationUsersMax),
          sources: texts(sourcesMax).optional(),
        },
        '{"regulationType":"SUPPRESS_WITH_DELETE","subjectIds":["u_1"]}',
      ),
      bodyBytesMax: regulationBytesMax,
      run: async ({ regulationType: type, subjectIds: userIds, sources: sourceIds = null }) => {
        const outcome = await regulations.create({ type, userIds, sourceIds })
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
