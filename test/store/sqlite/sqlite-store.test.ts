import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { LeasedDelivery, NewEvent } from '../../../src/delivery/index.ts'
import { emptyLedger } from '../../../src/model/index.ts'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { deliveryStoreSuite } from '../../conformance/delivery-store.ts'
import { startSource } from '../../support/run-source.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

async function newPath(): Promise<string> {
  return join(await temporaryFolder(), 'store.db')
}

deliveryStoreSuite('SqliteStore', async () => SqliteStore.open(await newPath()))

function event(messageId: string): NewEvent {
  const deliveries = [{ destinationId: 'crm', body: `{"messageId":"${messageId}"}` }]
  return { sourceId: 'website', messageId, type: 'track', deliveries }
}

function claim(store: SqliteStore): Promise<readonly LeasedDelivery[]> {
  return store.claim({ nowMs, shares: [{ destinationId: 'crm', deliveriesMax: 100 }] })
}

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

  test('keeps what was added, settled and put off when it is opened again', async () => {
    await withStore(async (store) => {
      await store.add({ nowMs, events: ['m_1', 'm_2', 'm_3'].map(event) })
      const [first, second] = await claim(store)
      await store.settle({
        nowMs,
        settlements: [
          { kind: 'delivered', delivery: first!, requests: [] },
          {
            kind: 'retry',
            delivery: second!,
            dueAtMs: nowMs,
            firstAttemptAtMs: nowMs - 1,
            refusedUrls: ['https://example.com/'],
            requests: [],
          },
        ],
      })
    })
    await withStore(async (store) => {
      expect(await store.add({ nowMs, events: [event('m_1')] })).toEqual(['duplicate'])
      expect(await claim(store)).toMatchObject([
        { messageId: 'm_2', attempts: 1, firstAttemptAtMs: nowMs - 1 },
        { messageId: 'm_3', attempts: 0, firstAttemptAtMs: null },
      ])
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

  test('gives every lease back when it is opened again', async () => {
    await withStore(async (store) => {
      await store.add({ nowMs, events: [event('m_1')] })
      expect(await claim(store)).toHaveLength(1)
    })
    expect(await withStore(claim)).toHaveLength(1)
  })

  test('gives new deliveries ids of their own when it is opened again', async () => {
    const add = (messageId: string) =>
      withStore((store) => store.add({ nowMs, events: [event(messageId)] }))
    await add('m_1')
    await add('m_2')
    const ids = (await withStore(claim)).map(({ id }) => id)
    expect(new Set(ids).size).toBe(2)
  })

  test('syncs every commit to the disk', async () => {
    await withStore(async () => {
      const reader = await openDatabase(path)
      expect(reader.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
      reader.close()
    })
  })

  test('refuses a second deliverer of the same file, and lets it in afterwards', async () => {
    await withStore(async () => {
      await expect(SqliteStore.open(path)).rejects.toMatchObject({ code: 'store_in_use' })
    })
    await withStore((store) => store.ledger())
  })

  test('can be opened at once after the process that delivered was killed', async () => {
    const holder = startSource(new URL('hold-store.ts', import.meta.url), [path])
    await once(holder.stdout!, 'data')
    await expect(SqliteStore.open(path)).rejects.toMatchObject({ code: 'store_in_use' })
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    const claimed = await withStore(claim)
    expect(claimed.map(({ messageId }) => messageId)).toEqual(['m_held'])
  })

  test('lets others read while it delivers', async () => {
    await withStore(async (store) => {
      await store.add({ nowMs, events: [event('m_1')] })
      const reader = await openDatabase(path)
      await store.add({ nowMs, events: [event('m_2')] })
      const count = reader.prepare('SELECT count(*) AS count FROM deliveries').get()
      reader.close()
      expect(count).toEqual({ count: 2 })
    })
  })

  test('refuses a file that is not a database', async () => {
    await writeFile(path, 'a shopping list\n'.repeat(100))
    await expect(SqliteStore.open(path)).rejects.toMatchObject({ code: 'store_unusable' })
  })

  test('refuses a folder that does not exist', async () => {
    await expect(SqliteStore.open(join(path, 'no/such'))).rejects.toMatchObject({
      code: expect.stringMatching(/^store_/) as string,
    })
  })

  test('refuses the database of another program, and leaves it alone', async () => {
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

  test('refuses a file that a newer version made', async () => {
    await withStore((store) => store.ledger())
    const newer = await openDatabase(path)
    newer.exec('PRAGMA user_version = 1000')
    newer.close()
    await expect(SqliteStore.open(path)).rejects.toMatchObject({
      code: 'store_unusable',
      message: expect.stringContaining('newer version') as string,
    })
  })

  test('answers for nothing that could not be written, and goes on afterwards', async () => {
    await withStore(async (store) => {
      await store.add({ nowMs, events: [event('m_1')] })
      const writer = await openDatabase(path)
      writer.exec(
        "CREATE TRIGGER full BEFORE INSERT ON seen BEGIN SELECT RAISE(FAIL, 'disk is full'); END",
      )
      await expect(store.add({ nowMs, events: [event('m_2')] })).rejects.toMatchObject({
        code: 'store_unusable',
        message: expect.stringContaining('disk is full') as string,
      })
      writer.exec('DROP TRIGGER full')
      writer.close()
      expect(await store.add({ nowMs, events: [event('m_2')] })).toEqual(['routed'])
      expect(await store.ledger()).toMatchObject({ accepted: 2, routed: 2, pending: 2 })
    })
  })

  test('keeps a lease whose settlement could not be written', async () => {
    await withStore(async (store) => {
      await store.add({ nowMs, events: [event('m_1')] })
      const [delivery] = await claim(store)
      const settlements = [{ kind: 'delivered', delivery: delivery!, requests: [] }] as const
      const writer = await openDatabase(path)
      writer.exec(
        "CREATE TRIGGER full BEFORE UPDATE ON deliveries BEGIN SELECT RAISE(FAIL, 'full'); END",
      )
      await expect(store.settle({ nowMs, settlements })).rejects.toThrow('full')
      expect(await claim(store)).toEqual([])
      writer.exec('DROP TRIGGER full')
      writer.close()
      await store.settle({ nowMs, settlements })
      expect(await store.ledger()).toMatchObject({ delivered: 1, pending: 0 })
    })
  })
})
