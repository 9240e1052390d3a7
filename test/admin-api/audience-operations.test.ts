import { describe, expect, test } from 'vitest'
import type { Member } from '../../src/audience/index.ts'
import { formatTimestamp } from '../../src/model/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { nowMs } from '../cli/deliveries/stores.ts'
import {
  audience,
  changes,
  counts,
  linesOf,
  readWhole,
  row,
  startAudiences,
  synced,
} from './recorded-audiences.ts'
import { sendRequest, type RequestOptions } from './support.ts'

const fields = {
  key: 'big_spenders',
  name: 'Big Spenders',
  class: 'audience',
  computationId: 'aud_1',
  source: 'website',
  members: 3,
  createdAt: formatTimestamp(nowMs),
  syncedAt: null,
}

const syncPath = '/v1/audiences/sync?name=Big+Spenders'
const removePath = '/v1/audiences/big_spenders/remove'

const identityOf = (userId: string) => ({ userId, anonymousId: null, email: null })
const memberOf = (userId: string): Member => ({ identity: identityOf(userId), value: 'true' })

describe('GET /v1/audiences', () => {
  test('lists all audiences', async () => {
    const trait = { ...audience, key: 'ltv', computationClass: 'trait', syncedAtMs: nowMs } as const
    const { url } = await startAudiences({ audiences: [audience, trait] })
    const { status, body } = await sendRequest(`${url}/v1/audiences`)
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        v: 1,
        kind: 'audiences',
        audiences: [
          { kind: 'audience', ...fields },
          {
            kind: 'audience',
            ...fields,
            key: 'ltv',
            class: 'trait',
            syncedAt: formatTimestamp(nowMs),
          },
        ],
      },
    })
  })
})

describe('GET /v1/audiences/:key', () => {
  test('returns the members, with the start of the next page', async () => {
    const { url, membersRequests } = await startAudiences({
      members: [memberOf('u_1'), memberOf('u_2'), memberOf('u_3')],
    })
    const { body } = await sendRequest(`${url}/v1/audiences/big_spenders?limit=2`)
    const next = Buffer.from(JSON.stringify(identityOf('u_2'))).toString('base64url')
    expect(body).toEqual({
      v: 1,
      kind: 'audience',
      ...fields,
      memberList: ['u_1', 'u_2'].map((userId) => ({ ...identityOf(userId), value: true })),
      next,
    })
    expect(
      (await sendRequest(`${url}/v1/audiences/big_spenders?after=${next}`)).body,
    ).toMatchObject({ memberList: [{ userId: 'u_3' }], next: null })
    expect(membersRequests).toEqual([
      { key: 'big_spenders', limit: 3, after: null },
      { key: 'big_spenders', limit: 51, after: identityOf('u_2') },
    ])
  })

  test('lists the existing keys if there is no audience with that key', async () => {
    const { url } = await startAudiences()
    const message = 'There is no such audience: choose from big_spenders'
    expect(await sendRequest(`${url}/v1/audiences/Big%20Spenders`)).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found', message } },
    })
  })

  test('does not list thousands of keys', async () => {
    const audiences = Array.from({ length: 3_000 }, (_, index) => ({
      ...audience,
      key: `a_${index}`,
    }))
    const { url } = await startAudiences({ audiences })
    const { text } = await sendRequest(`${url}/v1/audiences/other`)
    expect(text).toMatch(/choose from a_0, a_1, .*, a_19 and 2980 more"/)
  })

  test.each(['sync', 'remove', 'a/b ü'])('finds an audience with the key %s', async (key) => {
    const { url } = await startAudiences({ audiences: [{ ...audience, key }] })
    expect(await sendRequest(`${url}/v1/audiences/${encodeURIComponent(key)}`)).toMatchObject({
      status: 200,
      body: { key },
    })
  })
})

describe('POST /v1/audiences/sync', () => {
  test('passes on every setting and the whole list, and reports the outcome', async () => {
    const lists: string[] = []
    const { url, syncRequests } = await startAudiences({
      sync: async (_request, list) => {
        lists.push(await readWhole(list))
        return synced
      },
    })
    const query = 'key=ltv&class=trait&source=website&idColumn=id&idColumn=mail&valueColumn=v'
    const body = 'id,mail,v\nu_1,ann@example.com,1\n'
    expect(await linesOf(`${url}/v1/audiences/sync?${query}`, { method: 'POST', body })).toEqual([
      { v: 1, kind: 'sync', outcome: 'synced', dryRun: false, audience: fields, ...counts },
    ])
    expect(lists).toEqual([body])
    expect(syncRequests).toMatchObject([
      {
        name: undefined,
        key: 'ltv',
        computationClass: 'trait',
        sourceId: 'website',
        columns: { userIds: ['id', 'mail'], value: 'v' },
        isDryRun: false,
      },
    ])
  })

  test('is for an audience by default, not for a trait', async () => {
    const { url, syncRequests } = await startAudiences()
    const request = { method: 'POST', body: 'id\nu_1\n' } as const
    await linesOf(`${url}${syncPath}&idColumn=id&dryRun=true`, request)
    await linesOf(`${url}${syncPath}`, request)
    expect(syncRequests).toMatchObject([
      {
        name: 'Big Spenders',
        key: undefined,
        computationClass: 'audience',
        sourceId: undefined,
        columns: { userIds: ['id'], value: undefined },
        isDryRun: true,
      },
      { columns: { userIds: [] }, isDryRun: false },
    ])
  })

  test('is refused without a name and a key', async () => {
    const { url } = await startAudiences()
    const message = 'No audience is given: give a name or a key'
    const path = '/v1/audiences/sync?dryRun=true'
    expect(await sendRequest(url + path, { method: 'POST', body: 'u_1\n' })).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request', message } },
    })
  })

  test('reports rejected rows, and in a dry run also each change', async () => {
    const { url } = await startAudiences({
      sync: ({ listener }) => {
        listener.rejected(row)
        listener.changed(changes)
        return Promise.resolve(synced)
      },
    })
    const rejected = { v: 1, kind: 'rejected', ...row }
    const last = {
      v: 1,
      kind: 'sync',
      outcome: 'synced',
      dryRun: false,
      audience: fields,
      ...counts,
    }
    expect(await linesOf(`${url}${syncPath}`)).toEqual([rejected, last])
    expect(await linesOf(`${url}${syncPath}&dryRun=true`)).toEqual([
      rejected,
      {
        v: 1,
        kind: 'change',
        userId: 'u_1',
        anonymousId: null,
        email: 'ann@example.com',
        value: 'gold',
      },
      { v: 1, kind: 'change', userId: null, anonymousId: 'a_1', email: null, value: null },
      { ...last, dryRun: true },
    ])
  })

  test('reports progress at most twice a second, even if the clock is changed', async () => {
    const clock = new ManualClock(nowMs)
    const { url } = await startAudiences(
      {
        sync: async ({ listener }) => {
          for (const [read, passMs] of [0, 499, 1, 499, 1].entries()) {
            await clock.advance(passMs)
            listener.progress({ ...counts, read })
          }
          clock.jump(-3_600_000)
          listener.progress({ ...counts, read: 5 })
          await clock.advance(500)
          listener.comparing?.(1_000)
          listener.comparing?.(2_000)
          return synced
        },
      },
      { clock },
    )
    const progress = (read: number) => ({ v: 1, kind: 'progress', ...counts, read })
    const comparing = { v: 1, kind: 'comparing', members: 1_000 }
    expect((await linesOf(`${url}${syncPath}`)).slice(0, -1)).toEqual([
      ...[2, 4, 5].map(progress),
      comparing,
    ])
  })

  const others = ['incomplete', 'ended', 'superseded'] as const
  test.each(others)('reports that a sync is %s', async (kind) => {
    const { url } = await startAudiences({ sync: () => Promise.resolve({ ...synced, kind }) })
    expect(await linesOf(`${url}${syncPath}`)).toMatchObject([{ kind: 'sync', outcome: kind }])
  })
})

describe('POST /v1/audiences/:key/remove', () => {
  test('reports how many members left, and in a dry run who would leave', async () => {
    const { url, removalRequests } = await startAudiences({
      remove: ({ listener }) => {
        listener.changed(changes.slice(1))
        return Promise.resolve({ kind: 'removed', audience, left: 3 })
      },
    })
    const last = {
      v: 1,
      kind: 'removal',
      outcome: 'removed',
      dryRun: false,
      audience: fields,
      left: 3,
    }
    const request: RequestOptions = { method: 'POST' }
    expect(await linesOf(`${url}${removePath}`, request)).toEqual([last])
    expect(await linesOf(`${url}${removePath}?dryRun=true`, request)).toMatchObject([
      { kind: 'change', anonymousId: 'a_1', value: null },
      { ...last, dryRun: true },
    ])
    expect(removalRequests).toMatchObject([
      { key: 'big_spenders', isDryRun: false },
      { key: 'big_spenders', isDryRun: true },
    ])
  })

  const others = ['ended', 'superseded'] as const
  test.each(others)('reports that the removal is %s', async (kind) => {
    const { url } = await startAudiences({
      remove: () => Promise.resolve({ kind, audience, left: 1 }),
    })
    expect(await linesOf(`${url}${removePath}`)).toMatchObject([
      { kind: 'removal', outcome: kind, left: 1 },
    ])
  })
})

describe('a request that reaches no operation is refused:', () => {
  const notAllowed = (allow: string) => ({
    status: 405,
    headers: { allow },
    code: 'method_not_allowed',
  })
  test.each<
    [RequestOptions['method'], string, { status: number; code?: string; headers?: object }]
  >([
    ['GET', '/v1/audiences?x=1', { status: 200 }],
    ['HEAD', '/v1/audiences', { status: 200 }],
    ['HEAD', '/v1/audiences/big_spenders', { status: 200 }],
    ['POST', '/v1/audiences', notAllowed('GET, HEAD')],
    ['POST', '/v1/audiences/big_spenders', notAllowed('GET, HEAD')],
    ['DELETE', '/v1/audiences/big_spenders', notAllowed('GET, HEAD')],
    ['PUT', '/v1/audiences/sync', notAllowed('POST')],
    ['GET', removePath, notAllowed('POST')],
    ['HEAD', removePath, notAllowed('POST')],
    ['POST', '/v1/audiences/sync', { status: 400, code: 'invalid_request' }],
    ['POST', `${syncPath}&x=1`, { status: 400, code: 'invalid_request' }],
    ['POST', `${removePath}?x=1`, { status: 400, code: 'invalid_request' }],
    ['GET', '/v1/audiences/big_spenders?limit=0', { status: 400, code: 'invalid_request' }],
    ['POST', '/v1/audiences/a/b/remove', { status: 404, code: 'not_found' }],
  ])('%s %s', async (method, path, { status, code, headers = {} }) => {
    const { url, syncRequests, removalRequests } = await startAudiences()
    const answer = await sendRequest(url + path, { ...(method === undefined ? {} : { method }) })
    expect(answer).toMatchObject({ status, headers })
    if (code !== undefined && method !== 'HEAD') {
      expect(answer.body).toMatchObject({ error: { code } })
    }
    expect([...syncRequests, ...removalRequests]).toEqual([])
  })

  test('without the token', async () => {
    const { url, syncRequests, removalRequests } = await startAudiences()
    for (const [method, path] of [
      ['GET', '/v1/audiences'],
      ['GET', '/v1/audiences/big_spenders'],
      ['POST', syncPath],
      ['POST', removePath],
    ] as const) {
      const request = { method, hasToken: false, ...(method === 'POST' ? { body: 'u_1\n' } : {}) }
      expect(await sendRequest(url + path, request)).toMatchObject({ status: 401 })
    }
    expect([...syncRequests, ...removalRequests]).toEqual([])
  })
})
