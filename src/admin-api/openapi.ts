import { z } from 'zod'
import { isJsonObject, type JsonObject } from '../model/index.ts'
import { answerSchemas, refusalSchema } from './answer-schemas.ts'
import { audienceSchemas } from './audience-requests.ts'
import { regulationSchemas } from './regulation-requests.ts'
import { deliverySchemas } from './requests.ts'

interface Described {
  readonly method: 'get' | 'post'
  readonly path: string
  readonly summary: string
  readonly query?: z.ZodType
  readonly body?: z.ZodType
  readonly answer: keyof typeof answerSchemas
}

function described(): readonly Described[] {
  const { list, reveal, retry, discard, replay } = deliverySchemas()
  const { members, sync, remove } = audienceSchemas
  const { list: regulations, create } = regulationSchemas
  const rows: Readonly<Record<string, DescribedRow>> = {
    'get /deliveries': ['deliveries', 'A page of deliveries, the newest first', { query: list }],
    'get /deliveries/{destination}/{number}': [
      'story',
      'A delivery with all its requests',
      { query: reveal },
    ],
    'post /deliveries/retry': ['retry', 'Makes deliveries due immediately', { body: retry }],
    'post /deliveries/discard': ['discard', 'Ends pending deliveries as failed', { body: discard }],
    'get /destinations': ['destinations', 'Endpoints, breakers, faults, counts', { query: reveal }],
    'post /destinations/{id}/enable': ['destination', 'Enables a destination in this process'],
    'post /destinations/{id}/disable': ['destination', 'Disables a destination in this process'],
    'post /destinations/{id}/test': ['test', 'Delivers a sample track call'],
    'get /sources': ['sources', 'Write keys, and the calls since this process started'],
    'get /overview': ['overview', 'The current problems, and the last hour'],
    'get /ledger': ['ledger', 'The counts of events and deliveries'],
    'get /audit': ['audit', 'Whether the counts balance'],
    'post /replay': ['replay', 'Sends archived events again', { body: replay }],
    'get /audiences': ['audiences', 'The audiences and computed traits'],
    'post /audiences/sync': ['line', 'Replaces the members with those of a list', { query: sync }],
    'get /audiences/{key}': [
      'members',
      'An audience and a page of its members',
      { query: members },
    ],
    'post /audiences/{key}/remove': ['line', 'Removes an audience', { query: remove }],
    'get /regulations': ['regulations', 'A page of regulations', { query: regulations }],
    'post /regulations': ['regulation', 'Deletes or suppresses users', { body: create }],
    'get /regulations/{id}': ['regulation', 'A regulation, and what was erased and sent'],
  }
  return Object.entries(rows).map(([operation, [answer, summary, asked]]) => {
    const [method, path] = operation.split(' ') as [Described['method'], string]
    return { method, path, summary, answer, ...asked }
  })
}

type DescribedRow = readonly [
  answer: Described['answer'],
  summary: string,
  asked?: Pick<Described, 'query'> | Pick<Described, 'body'>,
]

/** Describes the admin API in OpenAPI 3.1, from the schemas that check its requests. */
export function openApiDocument(): JsonObject {
  const paths: Record<string, Record<string, JsonObject>> = {}
  for (const operation of described()) {
    const path = `/v1${operation.path}`
    paths[path] = { ...paths[path], [operation.method]: operationObject(operation) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'evroute admin API',
      version: '1',
      description:
        'What the operator of a service can see and do. Every request must carry admin.token as its bearer token. A parameter that takes several values accepts one value or a list.',
    },
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: {
        ...Object.fromEntries(
          Object.entries(answerSchemas).map(([name, schema]) => [name, jsonSchema(schema)]),
        ),
        refusal: jsonSchema(refusalSchema),
      },
    },
  }
}

function operationObject({ path, summary, query, body, answer }: Described): JsonObject {
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const asked = query === undefined ? [] : queryParameters(jsonSchema(query))
  const json = answer === 'line' ? 'application/x-ndjson' : 'application/json'
  return {
    summary,
    parameters: [...named, ...asked],
    ...(body && {
      requestBody: { content: { 'application/json': { schema: jsonSchema(body) } } },
    }),
    ...(answer === 'line' &&
      path.endsWith('/sync') && { requestBody: { content: { '*/*': {} }, required: true } }),
    responses: {
      200: { description: 'Done', content: { [json]: { schema: reference(answer) } } },
      default: {
        description: 'Refused',
        content: { 'application/json': { schema: reference('refusal') } },
      },
    },
  }
}

function queryParameters({ properties }: JsonObject): readonly JsonObject[] {
  const named = isJsonObject(properties) ? Object.entries(properties) : []
  return named.map(([name, schema]) => ({ name, in: 'query', schema }))
}

function reference(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` }
}

function jsonSchema(schema: z.ZodType): JsonObject {
  const json = z.toJSONSchema(schema, { io: 'input' })
  // OpenAPI 3.1 sets the schema version for the whole document.
  delete json.$schema
  return json as JsonObject
}
