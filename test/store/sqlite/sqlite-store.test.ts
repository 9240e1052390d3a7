import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { emptyLedger } from '../../../src/model/index.ts'
import { openDatabase, type Statement } from '../../../src/store/sqlite/database.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import {
  addAndLease,
  delivered,
  event,
  keepAll,
  nowMs,
  requestOf,
  retried,
} from '../../conformance/store-under-test.ts'
import { startSource } from '../../support/run-source.ts'
import { add, claim, newPath, withMethods } from './store-calls.ts'

describe('SqliteStore', () => {
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

  test('keeps added, settled and scheduled deliveries when it is opened again', async () => {
    const holds = [{ url: 'https://example.com/', untilMs: null }]
    await withStore(async (store) => {
      await add(store, 'm_1', 'm_2', 'm_3')
      const [first, second] = await claim(store)
      await store.settle({
        nowMs,
        settlements: [delivered(first!), retried(second!, nowMs, { holds })],
        requests: [requestOf(second!)],
      })
    })
    await withStore(async (store) => {
      expect(await add(store, 'm_1')).toEqual(['duplicate'])
      expect(await claim(store)).toMatchObject([{ messageId: 'm_3', attempts: 0, holds: [] }])
      const [retriedOne] = await claim(store, 'retry')
      expect(retriedOne).toMatchObject({ messageId: 'm_2', attempts: 1, windowAttempts: 1, holds })
      expect(await store.story(retriedOne!)).toMatchObject({ requests: [{ status: 503 }] })
      expect(await store.ledger()).toEqual({
        ...emptyLedger,
        accepted: 4,
        routed: 3,
        duplicate: 1,
        deliveries: 3,
        delivered: 1,
        pending: 2,
      })
    })
  })

  test.each([
    ['deliveries', 'state'],
    ['deliveries', 'lane'],
    ['requests', 'outcome'],
  ])('allows no row in %s with an unknown %s', async (table, column) => {
    await withStore(async (store) => {
      await add(store, 'm_1')
      const [leased] = await claim(store)
      await store.settle({
        nowMs,
        settlements: [delivered(leased!)],
        requests: [requestOf(leased!)],
      })
    })
    const database = await openDatabase(path)
    expect(() => database.exec(`UPDATE ${table} SET ${column} = 'unknown'`)).toThrow(
      `CHECK constraint failed: ${column} = `,
    )
    database.close()
  })

  test('keeps the order of requests that started at the same time, even after it is opened again', async () => {
    const requests = async (store: SqliteStore, attempts: readonly number[]) => {
      const leased = await claim(store)
      const sent = attempts.flatMap((attempt) => leased.map((each) => requestOf(each, { attempt })))
      await store.settle({ nowMs, settlements: [], requests: sent })
    }
    await withStore(async (store) => {
      await add(store, 'm_1', 'm_2', 'm_3')
      await requests(store, [1, 2])
    })
    const attempts = Array.from({ length: 50 }, (_, index) => index + 3)
    await withStore((store) => requests(store, attempts))
    await withStore(async (store) => {
      for (const delivery of await store.list({ filter: {}, limit: 10 })) {
        const story = await store.story(delivery)
        expect(story!.requests.map(({ attempt }) => attempt)).toEqual([1, 2, ...attempts])
      }
    })
  })

  test('returns every lease when it is opened again', async () => {
    await withStore(async (store) => {
      await add(store, 'm_1')
      expect(await claim(store)).toHaveLength(1)
    })
    expect(await withStore((store) => claim(store))).toHaveLength(1)
  })

  test('never reuses an id when it is opened again, even after all deliveries were purged', async () => {
    const ids: number[] = []
    for (const messageId of ['m_1', 'm_2', 'm_3']) {
      await withStore(async (store) => {
        await add(store, messageId)
        const [delivery] = await claim(store)
        ids.push(delivery!.id)
        await store.settle({ nowMs, settlements: [delivered(delivery!)], requests: [] })
        await store.purge({ ...keepAll, deliveredBeforeMs: nowMs + 1 })
        expect(await store.list({ filter: {}, limit: 10 })).toEqual([])
      })
    }
    expect(ids).toEqual([1, 2, 3])
  })

  test('stores a body once for all destinations, and deletes it with the last delivery', async () => {
    const body = '{"type":"track"}'
    const deliveries = ['ads', 'crm'].map((destinationId) => ({ destinationId, body }))
    await withStore(async (store) => {
      const events = [{ ...event('m_1'), deliveries }]
      const handOver = ['ads', 'crm'].map((destinationId) => ({ destinationId, deliveriesMax: 1 }))
      const { leased } = await addAndLease(store, { nowMs, seenSinceMs: 0, events, handOver })
      const counts: unknown[] = []
      for (const delivery of leased) {
        counts.push(await countMessages())
        await store.settle({ nowMs, settlements: [delivered(delivery)], requests: [] })
        await store.purge({ ...keepAll, deliveredBeforeMs: nowMs + 1 })
      }
      expect([...counts, await countMessages()]).toEqual([1, 1, 0])
    })
  })

  async function countMessages(): Promise<unknown> {
    const reader = await openDatabase(path, 'read')
    const row = reader.prepare('SELECT count(*) AS count FROM messages').get() as { count: number }
    reader.close()
    return row.count
  }

  test('leaves nothing in the log when it is closed', async () => {
    await withStore((store) => add(store, 'm_1'))
    const reader = await openDatabase(path, 'read')
    expect(reader.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
    expect(reader.prepare('PRAGMA wal_checkpoint(NOOP)').get()).toMatchObject({ log: 0 })
    reader.close()
    expect(await countMessages()).toBe(1)
  })

  describe('closed shortly after a call', () => {
    const calls: readonly (readonly [string, (store: SqliteStore) => Promise<unknown>])[] = [
      ['add', (store) => add(store, 'm_2')],
      ['claim', (store) => claim(store)],
      ['settle', (store) => store.settle({ nowMs, settlements: [], requests: [] })],
      ['retry', (store) => store.retry({ nowMs, filter: {}, limit: 1 })],
      ['list', (store) => store.list({ filter: {}, limit: 1 })],
    ]

    describe.each(calls)('%s', (_name, call) => {
      test.each([0, 1, 2, 3, 4])(
        'completes or rejects with store_closed, %i microtasks later',
        async (microtasks) => {
          const store = await SqliteStore.open(path)
          await add(store, 'm_1')
          const code = call(store).then(
            () => 'done',
            (error: unknown) => (error as { code?: unknown }).code,
          )
          for (let turn = 0; turn < microtasks; turn++) await Promise.resolve()
          await store.close()
          expect(['done', 'store_closed']).toContain(await code)
        },
      )
    })
  })

  test('refuses a second delivering process until the first has closed the file', async () => {
    await withStore(async () => {
      await expect(SqliteStore.open(path)).rejects.toMatchObject({ code: 'store_in_use' })
    })
    await withStore((store) => store.ledger())
  })

  test('can be opened at once after the delivering process was killed', async () => {
    const holder = startSource(new URL('hold-store.ts', import.meta.url), [path])
    await once(holder.stdout!, 'data')
    await expect(SqliteStore.open(path)).rejects.toMatchObject({ code: 'store_in_use' })
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    const claimed = await withStore((store) => claim(store))
    expect(claimed.map(({ messageId }) => messageId)).toEqual(['m_held'])
  })

  test('refuses a file that is not a database', async () => {
    await writeFile(path, 'a shopping list\n'.repeat(100))
    await expect(SqliteStore.open(path)).rejects.toMatchObject({ code: 'store_unusable' })
  })

  test('refuses the database of another program, and does not change it', async () => {
    const other = await openDatabase(path)
    other.exec('CREATE TABLE notes (text TEXT)')
    other.close()
    await expect(SqliteStore.open(path)).rejects.toMatchObject({
      code: 'store_unusable',
      message: expect.stringContaining('another program') as string,
    })
    const after = await openDatabase(path)
    expect(after.prepare('SELECT name FROM sqlite_schema').all()).toEqual([{ name: 'notes' }])
    after.close()
  })

  test('refuses a file that a newer version created', async () => {
    await withStore((store) => store.ledger())
    const newer = await openDatabase(path)
    newer.exec('PRAGMA user_version = 1000')
    newer.close()
    await expect(SqliteStore.open(path)).rejects.toMatchObject({
      code: 'store_unusable',
      message: expect.stringContaining('newer version') as string,
    })
  })

  test('finds what is due next in any number of destinations with one statement', async () => {
    let queries = 0
    const counting = (statement: Statement): Statement => ({
      run: (...values) => statement.run(...values),
      get: (...values) => {
        queries++
        return statement.get(...values)
      },
      iterate: (...values) => statement.iterate(...values),
      all: (...values) => {
        queries++
        return statement.all(...values)
      },
    })
    const store = await SqliteStore.open(path, async (name) => {
      const database = await openDatabase(name)
      return withMethods(database, { prepare: (sql) => counting(database.prepare(sql)) })
    })
    await add(store, 'm_1')
    queries = 0
    const idle = Array.from({ length: 50 }, (_, index) => `idle${index}`)
    const due = await store.nextDue({ nowMs, destinationIds: [...idle, 'crm'] })
    expect(due).toEqual([{ destinationId: 'crm', lane: 'first', dueAtMs: nowMs }])
    expect(queries).toBe(1)
    await store.close()
  })

  test('distinguishes messageIds that differ after a NUL or in a lone surrogate', async () => {
    const ids = ['m\0a', 'm\0b', 'm\ud800', 'm\ud801', 'm']
    await withStore(async (store) => {
      expect(await add(store, ...ids)).toEqual(ids.map(() => 'routed'))
      const listed = await store.list({ filter: { messageId: 'm\0b' }, limit: 10 })
      expect(listed.map(({ messageId }) => messageId)).toEqual(['m\0b'])
    })
    const claimed = await withStore((store) => claim(store))
    expect(claimed.map(({ messageId }) => messageId)).toEqual(ids)
  })
})
