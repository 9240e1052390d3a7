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
  const get = (path: string, summary: string, answer: Described['answer']) =>
    ({ method: 'get', path, summary, answer }) as const
  const post = (path: string, summary: string, answer: Described['answer']) =>
    ({ method: 'post', path, summary, answer }) as const
  return [
    { ...get('/deliveries', 'A page of deliveries, the newest first', 'deliveries'), query: list },
    {
      ...get('/deliveries/{destination}/{number}', 'A delivery with all its requests', 'story'),
      query: reveal,
    },
    { ...post('/deliveries/retry', 'Makes deliveries due immediately', 'retry'), body: retry },
    {
      ...post('/deliveries/discard', 'Ends pending deliveries as failed', 'discard'),
      body: discard,
    },
    {
      ...get('/destinations', 'Endpoints, breakers, faults and counts', 'destinations'),
      query: reveal,
    },
    post('/destinations/{id}/enable', 'Enables a destination in this process', 'destination'),
    post('/destinations/{id}/disable', 'Disables a destination in this process', 'destination'),
    post('/destinations/{id}/test', 'Delivers a sample track call', 'test'),
    get('/sources', 'Write keys, and the calls since this process started', 'sources'),
    get('/overview', 'The current problems, and the last hour', 'overview'),
    get('/ledger', 'The counts of events and deliveries', 'ledger'),
    get('/audit', 'Whether the counts balance', 'audit'),
    { ...post('/replay', 'Sends archived events again', 'replay'), body: replay },
    get('/audiences', 'The audiences and computed traits', 'audiences'),
    {
      ...post('/audiences/sync', 'Replaces the members of an audience with a list', 'line'),
      query: sync,
    },
    {
      ...get('/audiences/{key}', 'An audience with a page of its members', 'members'),
      query: members,
    },
    {
      ...post('/audiences/{key}/remove', 'Removes all members, and the audience', 'line'),
      query: remove,
    },
    {
      ...get('/regulations', 'A page of regulations', 'regulations'),
      query: regulationSchemas.list,
    },
    {
      ...post('/regulations', 'Deletes or suppresses users', 'regulation'),
      body: regulationSchemas.create,
    },
    get('/regulations/{id}', 'A regulation, and what was erased and sent', 'regulation'),
  ]
}

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
