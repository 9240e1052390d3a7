import { z } from 'zod'
import { isJsonObject, type JsonObject } from '../model/index.ts'
import { answerSchemas, refusalSchema } from './answer-schemas.ts'
import type { ApiOperation } from './operation.ts'

/** Describes the admin API in OpenAPI 3.1, from the schemas that check its requests. */
export function openApiDocument(operations: readonly ApiOperation[]): JsonObject {
  const paths: Record<string, Record<string, JsonObject>> = {}
  for (const operation of operations) {
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

function operationObject(operation: ApiOperation): JsonObject {
  const { method, path, summary, reads, answer } = operation
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const read = reads && jsonSchema(reads)
  const hasBody = method === 'post' && 'run' in operation
  const json = answer === 'line' ? 'application/x-ndjson' : 'application/json'
  return {
    summary,
    parameters: [...named, ...(read === undefined || hasBody ? [] : queryParameters(read))],
    ...(read && hasBody && { requestBody: { content: { 'application/json': { schema: read } } } }),
    ...(path.endsWith('/sync') && { requestBody: { content: { '*/*': {} }, required: true } }),
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
  // OpenAPI 3.1 sets the schema version once, for the whole document.
  delete json.$schema
  return json as JsonObject
}
