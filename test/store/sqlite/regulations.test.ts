import { beforeEach, describe, expect, test } from 'vitest'
import type { AddResult } from '../../../src/delivery/index.ts'
import type { RegulationType } from '../../../src/model/index.ts'
import type { EraseResult } from '../../../src/privacy/index.ts'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { SqliteLog } from '../../../src/store/sqlite/sqlite-log.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { eventAbout, notificationAbout } from '../../conformance/regulation-store-under-test.ts'
import { delivered, nowMs } from '../../conformance/store-under-test.ts'
import { claim, newPath } from './store-calls.ts'

describe('regulations in a file', () => {
  let path = ''
  beforeEach(async () => {
    path = await newPath()
  })

  async function withStore<Result>(use: (store: SqliteStore) => Promise<Result>): Promise<Result> {
    const store = await SqliteStore.open(path)
    try {
      return await use(store)
    } finally {
      await store.close()
    }
  }

  function addAbout(store: SqliteStore, ...userIds: readonly string[]): Promise<AddResult> {
    const events = userIds.map((userId) => eventAbout(userId))
    return store.add({ nowMs, seenSinceMs: 0, events, handOver: [] })
  }

  function create(store: SqliteStore, type: RegulationType): Promise<void> {
    const regulation = { id: 'r_1', type, userIds: ['u_1'], sourceIds: null }
    return store.regulations.create({ regulation, notifications: [], nowMs })
  }

  function erase(store: SqliteStore, rowsMax: number): Promise<EraseResult> {
    return store.regulations.erase({ id: 'r_1', nowMs, rowsMax })
  }

  test('continue when the file is opened again, and erase nothing twice', async () => {
    await withStore(async (store) => {
      await addAbout(store, 'u_1', 'u_2', 'u_1', 'u_1')
      await claim(store)
      await create(store, 'SUPPRESS_WITH_DELETE')
      expect(await erase(store, 3)).toBe('more')
    })
    await withStore((store) => addAbout(store, 'u_2'))
    const turns = []
    for (let turn = 0; turn < 20 && turns.at(-1) !== 'nothing'; turn++) {
      turns.push(await withStore((store) => erase(store, 1)))
    }
    expect(turns.at(-1)).toBe('nothing')
    await withStore(async (store) => {
      expect((await addAbout(store, 'u_1', 'u_2')).outcomes).toEqual(['suppressed', 'routed'])
      expect(await store.regulations.find({ id: 'r_1' })).toMatchObject({
        isStoreErased: true,
        erased: { pending: 3, settled: 0 },
      })
      const claimed = await claim(store)
      expect(claimed.map(({ body }) => body.includes('u_2'))).toEqual([true, true, true])
    })
  })

  test('erase all notifications even if an earlier version saved a position between them', async () => {
    await withStore(async (store) => {
      const regulation = {
        id: 'r_1',
        type: 'DELETE_ONLY',
        userIds: ['u_1'],
        sourceIds: null,
      } as const
      const notifications = [notificationAbout('u_1'), notificationAbout('u_1')]
      await store.regulations.create({ regulation, notifications, nowMs })
      expect(await erase(store, 100)).toBe('waiting')
      const claimed = await claim(store)
      await store.settle({ nowMs, settlements: claimed.map(delivered), requests: [] })
    })
    // That version went through the store by destination, so its position has the key of a destination.
    const database = await openDatabase(path, 'write')
    database.exec("UPDATE regulations SET at_key = 'crm', at_id = 1000")
    database.close()
    await withStore(async (store) => {
      expect(await erase(store, 100)).toBe('waiting')
      expect(await erase(store, 100)).toBe('nothing')
      const remaining = await store.list({ filter: {}, limit: 10 })
      expect(remaining.map(({ userId }) => userId)).toEqual([null, null])
    })
  })

  test('can be read while a process carries them out', async () => {
    await withStore(async (store) => {
      await addAbout(store, 'u_1')
      await create(store, 'DELETE_INTERNAL')
      const log = await SqliteLog.open(path, { write: true })
      try {
        expect(await log.regulations.find({ id: 'r_1' })).toMatchObject({ isStoreErased: false })
        expect(await erase(store, 100)).toBe('nothing')
        const [regulation] = await log.regulations.list({ limit: 10 })
        expect(regulation).toEqual(await store.regulations.find({ id: 'r_1' }))
        expect(await log.retry({ nowMs, filter: {}, limit: 10 })).toMatchObject({ deliveries: 0 })
        expect(await log.regulations.find({ id: 'none' })).toBeUndefined()
      } finally {
        await log.close()
      }
    })
  })

  test('do not keep the store from adding, leasing and settling', async () => {
    await withStore(async (store) => {
      await addAbout(store, 'u_1', 'u_2')
      await create(store, 'DELETE_INTERNAL')
      const [result] = await Promise.all([erase(store, 100), addAbout(store, 'u_2', 'u_2')])
      expect(result).toBe('nothing')
      const claimed = await claim(store)
      await store.settle({ nowMs, settlements: claimed.map(delivered), requests: [] })
      await addAbout(store, 'u_1')
      expect(await store.ledger()).toMatchObject({ delivered: 3, failed: 1, pending: 1 })
    })
  })

  test('suppress no user if they cannot be stored', async () => {
    await withStore(async (store) => {
      await create(store, 'SUPPRESS_ONLY')
      const regulation = { type: 'SUPPRESS_ONLY', userIds: ['u_2'], sourceIds: null } as const
      const again = { regulation: { ...regulation, id: 'r_1' }, notifications: [], nowMs }
      await expect(store.regulations.create(again)).rejects.toMatchObject({
        code: 'store_unusable',
      })
      expect((await addAbout(store, 'u_1', 'u_2')).outcomes).toEqual(['suppressed', 'routed'])
    })
  })
})
