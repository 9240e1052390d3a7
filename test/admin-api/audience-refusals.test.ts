import { describe, expect, test } from 'vitest'
import type { AudienceRemoveOutcome, AudienceSyncOutcome } from '../../src/admin-api/index.ts'
import type { AudienceRefusal } from '../../src/audience/index.ts'
import { EvrouteError, SettingError } from '../../src/model/index.ts'
import {
  audience,
  changes,
  linesOf,
  row,
  startAudiences,
  type KnownAudiences,
} from './recorded-audiences.ts'
import { sendRequest } from './support.ts'

const syncPath = '/v1/audiences/sync?name=Big+Spenders'
const removePath = '/v1/audiences/big_spenders/remove'

type RefusalRow = readonly [
  AudienceRefusal,
  { readonly status: number; readonly code: string; readonly message: string },
]

const refusals: readonly RefusalRow[] = [
  [
    { kind: 'running', key: 'vip' },
    {
      status: 409,
      code: 'sync_running',
      message:
        'A sync or removal of the audience vip is already running; try again when it has ended',
    },
  ],
  [
    { kind: 'unknown_source', knownIds: ['website', 'app'] },
    { status: 404, code: 'not_found', message: 'No source is given: choose from website, app' },
  ],
  [
    { kind: 'unknown_source', knownIds: [] },
    { status: 404, code: 'not_found', message: 'There is no such source: there are none' },
  ],
  [
    { kind: 'unknown_audience', knownKeys: ['vip'] },
    { status: 404, code: 'not_found', message: 'There is no such audience: choose from vip' },
  ],
  [
    { kind: 'unusable_name', message: 'Cannot make a key from the name' },
    { status: 400, code: 'invalid_request', message: 'Cannot make a key from the name' },
  ],
]

const taken: AudienceSyncOutcome = { kind: 'taken', audience }
const takenMessage =
  'The key big_spenders belongs to an audience of the source website; give a different name or key'

const unreadable = new EvrouteError({
  code: 'cannot_read_file',
  message: 'Cannot read the list: it has no column with userIds',
  hint: 'Name it with idColumn.',
})

describe('a sync that cannot start is refused:', () => {
  test.each(refusals)('%j', async (outcome, { status, ...error }) => {
    const { url } = await startAudiences({
      sync: () => Promise.resolve(outcome),
      remove: () => Promise.resolve(outcome),
    })
    for (const path of [syncPath, removePath]) {
      const answer = await sendRequest(url + path, { method: 'POST' })
      expect(answer).toMatchObject({ status, body: { error } })
    }
  })

  test('because the key is taken', async () => {
    const trait = { ...audience, key: 'ltv', computationClass: 'trait' } as const
    for (const [outcome, message] of [
      [taken, takenMessage],
      [
        { kind: 'taken', audience: trait },
        'The key ltv belongs to a computed trait of the source website; give a different name or key',
      ],
    ] as const) {
      const { url } = await startAudiences({ sync: () => Promise.resolve(outcome) })
      expect(await sendRequest(url + syncPath, { method: 'POST' })).toMatchObject({
        status: 409,
        body: { error: { code: 'audience_taken', message } },
      })
    }
  })

  test('because the named source is unknown', async () => {
    const outcome = { kind: 'unknown_source', knownIds: ['website'] } as const
    const { url } = await startAudiences({ sync: () => Promise.resolve(outcome) })
    const message = 'There is no source "app": choose from website'
    expect(await sendRequest(`${url}${syncPath}&source=app`, { method: 'POST' })).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found', message } },
    })
  })

  test.each([
    [unreadable, `${unreadable.message}. Name it with idColumn`],
    [new SettingError('key', 'Cannot use the key x'), 'Cannot use the key x'],
  ])('%s', async (error, message) => {
    const { url, warnings } = await startAudiences({ sync: () => Promise.reject(error) })
    expect(await sendRequest(url + syncPath, { method: 'POST' })).toMatchObject({
      status: 400,
      headers: { 'content-type': 'application/json' },
      body: { error: { code: 'invalid_request', message } },
    })
    expect(warnings).toEqual([])
  })

  test.each([
    [new Error('at /srv/secret.ts'), 500, 'internal_error'],
    [
      new EvrouteError({ code: 'store_unusable', message: '/srv/secret.db' }),
      503,
      'store_unavailable',
    ],
  ])('%s, without revealing internal details', async (error, status, code) => {
    const { url, warnings } = await startAudiences({ sync: () => Promise.reject(error) })
    const answer = await sendRequest(url + syncPath, { method: 'POST' })
    expect(answer).toMatchObject({ status, body: { error: { code } } })
    expect(answer.text).not.toContain('secret')
    expect(warnings).toMatchObject([{ message: 'a request to the admin API failed' }])
  })
})

describe('a sync that fails after its first record ends with an error:', () => {
  const storeError = new EvrouteError({ code: 'store_closed', message: '/srv/secret.db' })

  test.each([
    [unreadable, 'invalid_request', `${unreadable.message}. Name it with idColumn`],
    [storeError, 'store_unavailable', 'The store cannot be used at the moment'],
    [new Error('at /srv/secret.ts'), 'internal_error', 'The service failed to answer'],
  ])('%s', async (error, code, message) => {
    const { url } = await startAudiences({
      sync: ({ listener }) => {
        listener.rejected(row)
        return Promise.reject(error)
      },
    })
    expect(await linesOf(url + syncPath)).toEqual([
      { v: 1, kind: 'rejected', ...row },
      { v: 1, kind: 'error', code, message },
    ])
  })

  test('because the key turned out to be taken', async () => {
    const { url } = await startAudiences({
      sync: ({ listener }) => {
        listener.rejected(row)
        return Promise.resolve(taken)
      },
    })
    expect((await linesOf(url + syncPath)).at(-1)).toEqual({
      v: 1,
      kind: 'error',
      code: 'audience_taken',
      message: takenMessage,
    })
  })

  test('and so does a removal', async () => {
    const remove: KnownAudiences['remove'] = ({ listener }): Promise<AudienceRemoveOutcome> => {
      listener.changed(changes)
      return Promise.reject(storeError)
    }
    const { url } = await startAudiences({ remove })
    const lines = await linesOf(`${url}${removePath}?dryRun=true`)
    expect(lines).toMatchObject([
      { kind: 'change' },
      { kind: 'change' },
      { kind: 'error', code: 'store_unavailable' },
    ])
  })
})
