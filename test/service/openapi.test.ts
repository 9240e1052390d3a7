import { expect, test } from 'vitest'
import { request } from 'undici'
import { z } from 'zod'
import { isJsonObject, type JsonObject } from '../../src/model/index.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { documentFor, startService, token } from './running-service.ts'

interface Operation {
  readonly parameters: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema?: JsonObject }>> }
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, { readonly schema: JsonObject }>> }>
  >
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonObject>> }
}

/** A copy of a schema that refuses unknown fields. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (!isJsonObject(schema)) return schema
  const inner = Object.fromEntries(Object.entries(schema).map(([name, at]) => [name, closed(at)]))
  const isOpen = schema['type'] !== 'object' || 'additionalProperties' in schema
  return isOpen ? inner : { ...inner, additionalProperties: false }
}

function check(schema: unknown, value: unknown): void {
  const result = z.fromJSONSchema(closed(schema) as z.core.JSONSchema.JSONSchema).safeParse(value)
  expect(result.error?.issues ?? [], JSON.stringify(value)).toEqual([])
}

interface Asked {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object | string
}

type Answered = Awaited<ReturnType<typeof request>>

/** The schema of a response. */
function schemaOf({ components }: Description, operation: Operation, answered: Answered): unknown {
  const response = operation.responses[answered.statusCode] ?? operation.responses['default']
  const schema = response?.content[String(answered.headers['content-type'])]?.schema
  return components.schemas[(schema?.['$ref'] as string).replace(/.*\//, '')]
}

/** A client generated from nothing but the description. */
function clientOf(description: Description, url: string) {
  const called = new Set<string>()
  const call = async (name: string, { params = {}, query = {}, body }: Asked = {}) => {
    const [method = '', path = ''] = name.split(' ')
    const operation = description.paths[path]![method]!
    const inQuery = operation.parameters.filter((each) => each.in === 'query')
    expect(inQuery.map((each) => each.name)).toEqual(expect.arrayContaining(Object.keys(query)))
    const isJson = typeof body === 'object'
    if (isJson) check(operation.requestBody?.content['application/json']?.schema, body)
    const target = path.replace(/\{(\w+)\}/g, (_, part: string) => params[part] ?? 'none')
    const answered = await request(`${url}${target}?${new URLSearchParams(query).toString()}`, {
      method: method.toUpperCase() as 'GET' | 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: isJson ? JSON.stringify(body) : (body ?? null),
    })
    const lines = (await answered.body.text()).trim().split('\n')
    const schema = schemaOf(description, operation, answered)
    for (const line of lines) check(schema, JSON.parse(line))
    called.add(`${answered.statusCode} ${name}`)
    return JSON.parse(lines.at(-1)!) as JsonObject
  }
  return { call, called }
}

async function described() {
  const endpoint = await TestEndpoint.start()
  const service = await startService(
    documentFor(endpoint, { source: { archive: { directory: 'archive' } } }),
  )
  const description = (await service.admin('/openapi.json')).body as Description
  const { admin } = service.service.address
  return { ...service, endpoint, description, ...clientOf(description, admin ?? '') }
}

test('a client built from the description can use every operation and gets the described responses', async () => {
  const { call, called, description, track, endpoint } = await described()
  await track('m_1')
  await track('m_2', undefined, { event: '' })
  await endpoint.received(1)
  const { messageId } = await call('post /v1/destinations/{id}/test', { params: { id: 'crm' } })
  expect(messageId).toEqual(expect.any(String))
  await endpoint.received(2)
  await call('get /v1/deliveries', { query: { limit: '1', type: 'track' } })
  const { deliveries } = await call('get /v1/deliveries', { query: { reveal: 'true' } })
  const [{ id }] = deliveries as unknown as [{ id: string }]
  const [destination = '', number = ''] = id.split('/')
  await call('get /v1/deliveries/{destination}/{number}', { params: { destination, number } })
  await call('post /v1/deliveries/retry', { body: { state: ['failed'], since: '2h' } })
  await call('post /v1/deliveries/discard', { body: { all: true } })
  for (const name of ['destinations', 'sources', 'overview', 'ledger', 'audit', 'regulations']) {
    await call(`get /v1/${name}`)
  }
  await call('post /v1/destinations/{id}/disable', { params: { id: 'crm' } })
  await call('post /v1/destinations/{id}/enable', { params: { id: 'crm' } })
  await call('post /v1/replay', { body: { all: true } })
  const list = 'user_id,email\nu_1,a@example.com\n'
  await call('post /v1/audiences/sync', { query: { name: 'Big spenders' }, body: list })
  await call('get /v1/audiences')
  const params = { key: 'big_spenders' }
  await call('get /v1/audiences/{key}', { params })
  await call('post /v1/audiences/{key}/remove', { params, query: { dryRun: 'true' } })
  const regulation = { regulationType: 'DELETE_ONLY', subjectIds: ['u_1'] }
  const made = await call('post /v1/regulations', { body: regulation })
  await call('get /v1/regulations/{id}', { params: { id: made['id'] as string } })
  await call('get /v1/regulations', { query: { limit: '5' } })
  const all = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  )
  expect([...called].sort()).toEqual(all.map((name) => `200 ${name}`).sort())
})

test('every operation refuses invalid requests as described', async () => {
  const { call, description } = await described()
  const wrong = { body: 'none' }
  for (const [path, methods] of Object.entries(description.paths)) {
    for (const method of Object.keys(methods)) {
      await call(`${method} ${path}`, method === 'post' ? wrong : {})
    }
  }
})

test('the description requires the token', async () => {
  const { admin } = await described()
  expect(await admin('/openapi.json', undefined, 'wrong')).toMatchObject({ status: 401 })
})
