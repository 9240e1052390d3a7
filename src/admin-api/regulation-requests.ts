import { z } from 'zod'
import { regulationTypes } from '../model/index.ts'
import {
  regulationUsersMax,
  type RegulationRequest,
  type RegulationsRequest,
} from '../privacy/index.ts'
import {
  accepts,
  fields,
  oneOf,
  pageLimit,
  requestReader,
  text,
  texts,
  type RequestReader,
} from './read-fields.ts'

/** Maximum number of sources in a request. A regulation without sources applies to all of them. */
const sourcesMax = 1_000

/** Maximum size of a request, enough for the maximum number of user ids of usual length. */
export const regulationBytesMax: number = 2 * 1024 * 1024

/** Reads the body of a new regulation. */
export const regulationReader: RequestReader<RegulationRequest> = requestReader(
  fields(
    {
      regulationType: oneOf(regulationTypes),
      subjectType: z.literal('USER_ID', accepts('USER_ID')).optional(),
      subjectIds: texts(regulationUsersMax),
      sources: texts(sourcesMax).optional(),
    },
    '{"regulationType":"SUPPRESS_WITH_DELETE","subjectIds":["u_1"]}',
  ),
  ({ regulationType, subjectIds, sources = null }) => ({
    type: regulationType,
    userIds: subjectIds,
    sourceIds: sources,
  }),
)

/** Reads the query for a list of regulations. */
export const regulationsReader: RequestReader<RegulationsRequest> = requestReader(
  fields({ limit: pageLimit, before: text.optional() }),
  ({ limit, before }) => ({ limit, beforeId: before }),
)
