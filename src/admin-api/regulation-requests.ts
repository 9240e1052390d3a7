import { z } from 'zod'
import { regulationTypes } from '../model/index.ts'
import {
  regulationLimits,
  type RegulationRequest,
  type RegulationsRequest,
} from '../privacy/index.ts'
import {
  accepts,
  fields,
  oneOf,
  pageLimit,
  read,
  text,
  texts,
  type Reading,
} from './read-fields.ts'

/** Maximum number of sources in a request. A regulation without sources applies to all of them. */
const sourcesMax = 1_000
const sourceIdLengthMax = 1_024

/** Maximum size of a request, enough for the maximum number of user ids of usual length. */
export const regulationBytesMax: number = 2 * 1024 * 1024

const subjectType = z.literal('USER_ID', accepts('USER_ID'))

const requestFields = fields(
  {
    regulationType: oneOf(regulationTypes),
    subjectType: subjectType.optional(),
    subjectIds: texts(regulationLimits.usersMax, regulationLimits.userIdLengthMax),
    sources: texts(sourcesMax, sourceIdLengthMax).optional(),
  },
  '{"regulationType":"SUPPRESS_WITH_DELETE","subjectIds":["u_1"]}',
)

const listFields = fields({ limit: pageLimit, before: text.optional() })

/** The schemas of requests about regulations, for the API description. */
export const regulationSchemas: Readonly<Record<'create' | 'list', z.ZodType>> = {
  create: requestFields,
  list: listFields,
}

/** Reads the body of a regulation. */
export function readRegulationRequest(body: unknown): Reading<RegulationRequest> {
  return read(requestFields, body, ({ regulationType, subjectIds, sources = null }) => ({
    kind: 'read',
    value: { type: regulationType, userIds: subjectIds, sourceIds: sources },
  }))
}

/** Reads the query parameters for a list of regulations. */
export function readRegulationsQuery(query: unknown): Reading<RegulationsRequest> {
  return read(listFields, query, ({ limit, before }) => ({
    kind: 'read',
    value: { limit, beforeId: before },
  }))
}
