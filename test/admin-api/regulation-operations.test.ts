import { describe, expect, test } from 'vitest'
import { answerSchemas } from '../../src/admin-api/answer-schemas.ts'
import type { RegulationOperations } from '../../src/admin-api/index.ts'
import {
  listedRegulationRecord,
  regulationRecord,
  type CreateRegulationOutcome,
  type Regulation,
  type RegulationRequest,
  type RegulationsRequest,
} from '../../src/privacy/index.ts'
import { nowMs } from '../cli/deliveries/stores.ts'
import { sendRequest, startAdmin, type RequestOptions } from './support.ts'

const regulationOf = (id: string): Regulation => ({
  id,
  type: 'SUPPRESS_WITH_DELETE',
  userIds: ['u_1', 'u_2'],
  sourceIds: ['website'],
  createdAtMs: nowMs,
  finishedAtMs: null,
  isStoreErased: false,
  erased: { pending: 1, settled: 0, members: 0 },
  archive: null,
  streams: [
    { sourceId: 'website', destinationId: 'crm', pending: 2, delivered: 0, failed: 0, expired: 0 },
  ],
})

const path = '/v1/regulations'
const good = { regulationType: 'SUPPRESS_WITH_DELETE', subjectIds: ['u_1', 'u_2', 'u_1'] }

/** An API with some regulations, newest first, and the requests that reached them. */
async function start(ids: readonly string[] = [], outcome?: CreateRegulationOutcome) {
  const created: RegulationRequest[] = []
  const listed: RegulationsRequest[] = []
  const regulations: RegulationOperations = {
    create: (request) => {
      created.push(request)
      return Promise.resolve(outcome ?? { kind: 'created', regulation: regulationOf('reg_1') })
    },
    find: ({ id }) => Promise.resolve(ids.includes(id) ? regulationOf(id) : undefined),
    list: (request) => {
      listed.push(request)
      const start = ids.indexOf(request.beforeId ?? '') + 1
      return Promise.resolve(ids.slice(start, start + request.limit).map(regulationOf))
    },
  }
  return { ...(await startAdmin({ options: { regulations } })), created, listed }
}

const post = (body: RequestOptions['body']): RequestOptions => ({
  method: 'POST',
  ...(body && { body }),
})

describe('POST /v1/regulations', () => {
  test('passes the request on, and reports what was stored', async () => {
    const { url, created } = await start()
    const body = { ...good, subjectType: 'USER_ID', sources: ['website'] }
    const { status, body: answer } = await sendRequest(url + path, post(body))
    const record = { v: 1, ...regulationRecord(regulationOf('reg_1')) }
    expect({ status, answer }).toEqual({ status: 200, answer: record })
    expect(record).toMatchObject({ kind: 'regulation', id: 'reg_1', subjectIds: ['u_1', 'u_2'] })
    expect(created).toEqual([
      { type: 'SUPPRESS_WITH_DELETE', userIds: ['u_1', 'u_2', 'u_1'], sourceIds: ['website'] },
    ])
  })

  test('covers all sources by default', async () => {
    const { url, created } = await start()
    await sendRequest(url + path, post(good))
    expect(created).toMatchObject([{ sourceIds: null }])
  })

  test('lists the known sources if one is unknown', async () => {
    const knownIds = ['website', 'app']
    const { url } = await start([], { kind: 'unknown_source', knownIds })
    const message = 'There is no such source: choose from website, app'
    expect(await sendRequest(url + path, post({ ...good, sources: ['shop'] }))).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found', message } },
    })
  })

  test.each<[name: string, code: string, body: RequestOptions['body']]>([
    ['no body', 'invalid_request', undefined],
    ['invalid JSON', 'invalid_json', '{"regulationType":'],
    ['no users', 'invalid_request', { regulationType: 'DELETE_ONLY' }],
    ['an unknown type of subject', 'invalid_request', { ...good, subjectType: 'OBJECT_ID' }],
    ['too many users', 'invalid_request', { ...good, subjectIds: Array(5_001).fill('u') }],
    [
      'a million numbers instead of users',
      'invalid_request',
      `{"regulationType":"DELETE_ONLY","subjectIds":[${'1,'.repeat(1_000_000)}1]}`,
    ],
  ])('refuses %s', async (_name, code, body) => {
    const { url, created } = await start()
    const answer = await sendRequest(url + path, post(body))
    expect(answer).toMatchObject({ status: 400, body: { error: { code } } })
    expect(answer.text.length).toBeLessThan(1_000)
    expect(created).toEqual([])
  })

  test('accepts 5000 users in 2 MiB, and no more', async () => {
    const { url, created } = await start()
    const subjectIds = Array.from({ length: 5_000 }, (_, index) => `${index}`.padStart(400, 'u'))
    const json = JSON.stringify({ ...good, subjectIds })
    const bytesMax = 2 * 1024 * 1024
    expect(await sendRequest(url + path, post(json.padEnd(bytesMax)))).toMatchObject({
      status: 200,
    })
    expect(created).toMatchObject([{ userIds: subjectIds }])
    const message = `The body is larger than ${bytesMax} bytes`
    expect(await sendRequest(url + path, post(json.padEnd(bytesMax + 1)))).toMatchObject({
      status: 413,
      body: { error: { code: 'body_too_large', message } },
    })
    expect(created).toHaveLength(1)
  })

  test('does not raise the limit of other request bodies', async () => {
    const { url } = await start()
    const body = '{}'.padEnd(64 * 1024 + 1)
    expect(await sendRequest(`${url}/v1/replay`, post(body))).toMatchObject({ status: 413 })
  })

  test('does not log users', async () => {
    const regulations: RegulationOperations = {
      create: () => Promise.reject(new Error('disk full')),
      find: () => Promise.resolve(undefined),
      list: () => Promise.resolve([]),
    }
    const { url, warnings, infos } = await startAdmin({ options: { regulations } })
    expect(await sendRequest(url + path, post(good))).toMatchObject({ status: 500 })
    expect(warnings).toHaveLength(1)
    expect(JSON.stringify([warnings, infos])).not.toContain('u_1')
  })
})

describe('GET /v1/regulations', () => {
  test('returns pages, newest first, without the users', async () => {
    const { url, listed } = await start(['reg_3', 'reg_2', 'reg_1'])
    const { body, text } = await sendRequest(`${url}${path}?limit=2`)
    expect(body).toEqual({
      v: 1,
      kind: 'regulations',
      regulations: ['reg_3', 'reg_2'].map((id) => listedRegulationRecord(regulationOf(id))),
      next: 'reg_2',
    })
    expect(text).toContain('"subjects":2')
    expect(text).not.toContain('u_1')
    expect((await sendRequest(`${url}${path}?before=reg_2`)).body).toMatchObject({
      regulations: [{ id: 'reg_1' }],
      next: null,
    })
    expect(listed).toEqual([{ limit: 3 }, { limit: 51, beforeId: 'reg_2' }])
  })
})

describe('GET /v1/regulations/:id', () => {
  test('has a description that accepts the problems of archives', () => {
    const archive = { events: 1, files: 1, problems: ['events-1.ndjson: it is damaged'] }
    const record = { v: 1, ...regulationRecord({ ...regulationOf('reg_1'), archive }) }
    expect(answerSchemas.regulation.parse(record)).toEqual(record)
  })

  test('shows every field', async () => {
    const { url } = await start(['reg_1'])
    const { status, body } = await sendRequest(`${url}${path}/reg_1`)
    const expected = { v: 1, ...regulationRecord(regulationOf('reg_1')) }
    expect({ status, body }).toEqual({ status: 200, body: expected })
  })

  test('answers 404 for an unknown id', async () => {
    const { url } = await start()
    expect(await sendRequest(`${url}${path}/reg_1`)).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found', message: 'There is no such regulation' } },
    })
  })
})

test.each<[RequestOptions, string, { status: number; headers?: object }]>([
  [{ method: 'HEAD' }, path, { status: 200 }],
  [{ method: 'HEAD' }, `${path}/reg_1`, { status: 200 }],
  [{ method: 'PUT' }, path, { status: 405, headers: { allow: 'GET, HEAD, POST' } }],
  [{ method: 'DELETE' }, `${path}/reg_1`, { status: 405, headers: { allow: 'GET, HEAD' } }],
  [{ hasToken: false }, path, { status: 401 }],
  [{ hasToken: false }, `${path}/reg_1`, { status: 401 }],
  [{ ...post(good), hasToken: false }, path, { status: 401 }],
  [{}, `${path}?limit=501`, { status: 400 }],
  [{}, `${path}?after=reg_1`, { status: 400 }],
])('the request %j for %s is answered with %j', async (request, target, expected) => {
  const { url, created } = await start(['reg_1'])
  expect(await sendRequest(url + target, request)).toMatchObject(expected)
  expect(created).toEqual([])
})
