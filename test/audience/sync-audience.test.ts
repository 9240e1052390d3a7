import { describe, expect, it } from 'vitest'
import {
  syncAudience,
  type AudienceStore,
  type SyncOptions,
  type TakeRequest,
} from '../../src/audience/index.ts'
import { SettingError } from '../../src/model/index.ts'
import { MemoryStore } from '../support/memory-store.ts'
import { gate } from '../support/gate.ts'
import {
  deliver,
  listening,
  membersOf,
  nowMs,
  revenue,
  rowsOf,
  shoppers,
  sync,
  syncOptions,
  type SentCall,
} from './support.ts'

function setting(): { readonly store: MemoryStore; readonly options: SyncOptions } {
  const store = new MemoryStore()
  return { store, options: syncOptions({ store: store.audiences, rows: rowsOf('') }) }
}

/** Delivers everything that waits, and returns the user and the traits of each call. */
async function sent(store: MemoryStore): Promise<readonly unknown[]> {
  return (await deliver(store)).map((body) => {
    const { userId, anonymousId, traits } = JSON.parse(body) as SentCall
    return [userId ?? anonymousId, traits]
  })
}

const none = {
  ...{ read: 0, rejected: 0, entered: 0, changed: 0, left: 0, unchanged: 0, suppressed: 0 },
}

describe('a sync', () => {
  it('sends every member the first time, and only changes afterwards', async () => {
    const { store, options } = setting()
    const first = await sync({ ...options, list: 'userId\nu1\nu2\n' })
    expect(first.outcome).toEqual({
      kind: 'synced',
      audience: { ...shoppers, members: 2, createdAtMs: nowMs, syncedAtMs: nowMs },
      counts: { ...none, read: 2, entered: 2 },
    })
    expect(await sent(store)).toEqual([
      ['u1', { first_time_shopper: true }],
      ['u2', { first_time_shopper: true }],
    ])
    const second = await sync({ ...options, list: '{"userId":"u3"}\n{"userId":"u2"}\n' })
    expect(second.outcome).toMatchObject({
      kind: 'synced',
      audience: { members: 2 },
      counts: { ...none, read: 2, entered: 1, unchanged: 1, left: 1 },
    })
    expect(second.changes.map(({ identity, value }) => [identity.userId, value])).toEqual([
      ['u3', 'true'],
      ['u1', null],
    ])
    expect(await sent(store)).toEqual([
      ['u3', { first_time_shopper: true }],
      ['u1', { first_time_shopper: false }],
    ])
  })

  it('sends only the changed values of a computed trait', async () => {
    const { store, options } = setting()
    const trait = { ...options, audience: revenue }
    await sync({ ...trait, list: 'id,value\nu1,1\nu2,2\nu3,x\n' })
    await deliver(store)
    const { outcome } = await sync({ ...trait, list: 'id,value\nu1,1.0\nu2,3\nu3,\n' })
    expect(outcome).toMatchObject({
      kind: 'synced',
      counts: { ...none, read: 3, changed: 1, left: 1, unchanged: 1 },
    })
    expect(await sent(store)).toEqual([
      ['u2', { total_revenue_180_days: 3 }],
      ['u3', { total_revenue_180_days: null }],
    ])
  })

  it('reports each change once it is stored, and the progress after every batch', async () => {
    const { options } = setting()
    await sync({ ...options, list: 'id\nu1\n' })
    const ids = Array.from({ length: 1_500 }, (_, index) => `v${index}`)
    const { changes, progress } = await sync({ ...options, list: `id\n${ids.join('\n')}` })
    const identity = { anonymousId: null, email: null }
    expect(changes).toEqual([
      ...ids.map((userId) => ({ identity: { ...identity, userId }, value: 'true' })),
      { identity: { ...identity, userId: 'u1' }, value: null },
    ])
    expect(progress.map(({ entered, left }) => [entered, left])).toEqual([
      [1_000, 0],
      [1_500, 0],
      // Members who leave are searched for in batches, too.
      [1_500, 1],
      [1_500, 1],
    ])
  })

  it('processes a thousand members at once, also from rows with many members', async () => {
    const { store, options } = setting()
    const requests: TakeRequest[] = []
    const { audiences } = store
    const recording: AudienceStore = {
      begin: (request) => audiences.begin(request),
      take: async (request) => {
        const result = await audiences.take(request)
        if (result.kind === 'taken') requests.push(request)
        return result
      },
      release: (request) => audiences.release(request),
      remove: (request) => audiences.remove(request),
      list: () => audiences.list(),
      members: (request) => audiences.members(request),
    }
    const list = Array.from({ length: 15 }, (_, row) => ({
      id: Array.from({ length: 99 }, (_, index) => `${row}-${index}`),
    }))
    await sync({ ...options, store: recording, list: JSON.stringify(list) })
    expect(requests.map(({ members }) => members.length)).toEqual([1_000, 485])
    expect(requests.map(({ seenSinceMs }) => seenSinceMs)).toEqual([nowMs - 60_000, nowMs - 60_000])
  })

  it('keeps all members if rows are rejected', async () => {
    const { store, options } = setting()
    await sync({ ...options, list: 'id\nu1\n' })
    const { outcome, rejected } = await sync({ ...options, list: 'id,x\nu2,\n"",y\nu3\n' })
    expect(outcome).toMatchObject({
      kind: 'incomplete',
      audience: { members: 2 },
      counts: { ...none, read: 3, rejected: 2, entered: 1 },
    })
    expect(rejected).toEqual([
      {
        line: 3,
        code: 'no_user_anon_id',
        message: 'The row has neither a userId nor an anonymousId',
      },
      {
        line: 4,
        code: 'invalid_csv',
        message: 'The row has the wrong number of cells: 1 instead of 2',
      },
    ])
    expect([...(await membersOf(store.audiences, shoppers.key)).values()]).toEqual(['true', 'true'])
  })

  it('rejects a row once if it contradicts an earlier one, and accepts a repetition', async () => {
    const { store, options } = setting()
    const list = 'id,email,value\nu1,a,1\nu1,a,1\nu1,a,2\nu2,a,2\n'
    const csv = await sync({ ...options, audience: revenue, list })
    expect(csv.outcome).toMatchObject({
      kind: 'incomplete',
      counts: { ...none, read: 4, rejected: 1, entered: 2 },
    })
    expect(csv.rejected).toEqual([
      {
        line: 4,
        code: 'contradicts',
        message:
          'An earlier row has the same identifiers and a different value; the earlier value is kept',
      },
    ])
    const rows = '[{"id":["a","b"],"value":1},{"id":["a","b"],"value":2},{"id":["a"],"value":3}]'
    const json = await sync({ ...options, audience: { ...revenue, key: 'other' }, list: rows })
    expect(json.rejected.map(({ line }) => line)).toEqual([1, 1])
    expect(await deliver(store)).toHaveLength(4)
  })

  it('reads the configured columns', async () => {
    const { store, options } = setting()
    const columns = { userIds: ['customer'], value: 'revenue' }
    const list = 'id,customer,revenue\nx,c1,5\n'
    await sync({ ...options, columns, audience: revenue, list })
    expect(await sent(store)).toEqual([['c1', { total_revenue_180_days: 5 }]])
  })

  it('writes nothing if a CSV lacks the columns', async () => {
    const { store, options } = setting()
    await expect(sync({ ...options, list: '404 Not Found\n' })).rejects.toThrow(SettingError)
    await expect(sync({ ...options, list: 'id,id\nu1,u1\n' })).rejects.toThrow('two columns')
    const columns = { userIds: ['customer'], value: undefined }
    await expect(sync({ ...options, columns, list: 'id\nu1\n' })).rejects.toThrow(SettingError)
    expect(await store.audiences.list()).toEqual([])
  })

  it('keeps all members if no row of JSON has the configured field', async () => {
    const { store, options } = setting()
    const trait = { ...options, audience: revenue }
    await sync({ ...trait, list: '{"id":"u1","value":1}' })
    await expect(sync({ ...trait, list: '{"id":"u1","valeu":1}' })).rejects.toThrow(SettingError)
    expect((await membersOf(store.audiences, revenue.key)).size).toBe(1)
  })

  it('removes every member if the list is empty', async () => {
    const { store, options } = setting()
    for (const list of ['[]', 'id\n']) {
      await sync({ ...options, list: 'id\nu1\n' })
      const { outcome } = await sync({ ...options, list })
      expect(outcome).toMatchObject({
        kind: 'synced',
        audience: { members: 0 },
        counts: { left: 1 },
      })
    }
    expect(await deliver(store)).toHaveLength(4)
  })

  it('changes nothing if the list has no header', async () => {
    const { store, options } = setting()
    await expect(sync({ ...options, list: '' })).rejects.toThrow('The list is empty')
    expect(await store.audiences.list()).toEqual([])
    await sync({ ...options, list: 'id\nu1\n' })
    await expect(sync({ ...options, list: '\n' })).rejects.toThrow('The list is empty')
    expect((await membersOf(store.audiences, shoppers.key)).size).toBe(1)
  })

  it('refuses a key that belongs to a different source or class', async () => {
    const { options } = setting()
    await sync({ ...options, list: 'id\nu1\n' })
    for (const other of [{ sourceId: 'app' }, { computationClass: 'trait' as const }]) {
      const audience = { ...shoppers, ...other }
      const { outcome } = await sync({ ...options, audience, list: 'id,value\nu2,1\n' })
      expect(outcome).toMatchObject({ kind: 'taken', audience: { ...shoppers, members: 1 } })
    }
  })

  it('counts suppressed users, and sends nothing about them', async () => {
    const { store, options } = setting()
    await store.regulations.create({
      regulation: { id: 'r1', type: 'SUPPRESS_ONLY', userIds: ['u1'], sourceIds: null },
      notifications: [],
      nowMs,
    })
    const { outcome } = await sync({ ...options, list: 'id\nu1\nu2\n' })
    expect(outcome).toMatchObject({ counts: { ...none, read: 2, entered: 1, suppressed: 1 } })
    expect(await deliver(store)).toHaveLength(1)
  })
})

describe('an interrupted sync', () => {
  const longList = `id\n${Array.from({ length: 2_500 }, (_, index) => `v${index}\n`).join('')}`

  it('ends if the store is full, and keeps its changes', async () => {
    const { store, options } = setting()
    const answers = [true, false]
    const hasRoom = (): Promise<boolean> => Promise.resolve(answers.shift() ?? true)
    const { outcome } = await sync({ ...options, hasRoom, list: longList })
    expect(outcome).toMatchObject({ kind: 'ended', audience: { members: 1_000, syncedAtMs: null } })
    expect(await deliver(store)).toHaveLength(1_000)
  })

  it('ends when it is aborted, even while it waits for more of the list', async () => {
    const { options } = setting()
    const abort = new AbortController()
    const isWaiting = gate()
    async function* rows(): AsyncGenerator<never> {
      isWaiting.open()
      await new Promise(() => undefined)
      yield* []
    }
    const syncing = syncAudience({ ...options, rows: rows(), signal: abort.signal })
    await isWaiting.opened
    abort.abort()
    expect(await syncing).toMatchObject({ kind: 'ended', counts: none })
  })

  it('is superseded by a newer sync', async () => {
    const { store, options } = setting()
    const heard = listening()
    const begin = async (): Promise<boolean> => {
      await store.audiences.begin({ audience: shoppers, nowMs })
      return true
    }
    const rows = rowsOf(longList)
    const outcome = await syncAudience({ ...options, rows, ...heard, hasRoom: begin })
    expect(outcome).toMatchObject({ kind: 'superseded', counts: { entered: 0 } })
    expect(heard.changes).toEqual([])
    expect(await deliver(store)).toEqual([])
  })

  it('closes the list', async () => {
    const { options } = setting()
    let isClosed = false
    async function* rows(): ReturnType<typeof rowsOf> & AsyncGenerator {
      try {
        yield* rowsOf(longList)
      } finally {
        isClosed = true
      }
    }
    const hasRoom = (): Promise<boolean> => Promise.resolve(false)
    await syncAudience({ ...options, rows: rows(), hasRoom })
    expect(isClosed).toBe(true)
  })
})
