import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import type { DeliveryLog, StoreAudit } from '../../../src/delivery/index.ts'
import { imbalances } from '../../../src/model/index.ts'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { SqliteLog } from '../../../src/store/sqlite/sqlite-log.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { delivered, ended, nowMs, retried } from '../../conformance/store-under-test.ts'
import { startSource } from '../../support/run-source.ts'
import { add, claim, newPath } from './store-calls.ts'

function expectBalance({ ledger, counted, purged }: StoreAudit): void {
  expect(imbalances({ ...ledger, read: ledger.accepted, rejected: 0 })).toEqual([])
  for (const state of ['delivered', 'failed', 'expired'] as const) {
    expect([state, ledger[state]]).toEqual([state, counted[state] + purged[state]])
  }
  expect(counted.pending).toBe(ledger.pending)
}

describe('SqliteLog', () => {
  let path = ''
  beforeEach(async () => {
    path = await newPath()
  })

  async function withLog(
    use: (store: SqliteStore, log: DeliveryLog) => Promise<void>,
    options = { write: true },
  ): Promise<void> {
    const store = await SqliteStore.open(path)
    const log = await SqliteLog.open(path, options)
    try {
      await use(store, log)
      expectBalance(await store.audit())
    } finally {
      await log.close()
      await store.close()
    }
  }

  test('shows what the delivering process does', async () => {
    await withLog(
      async (store, log) => {
        await add(store, 'm_1')
        expect(await log.list({ filter: {}, limit: 10 })).toMatchObject([{ messageId: 'm_1' }])
        const [delivery] = await claim(store)
        await store.settle({ nowMs, settlements: [delivered(delivery!)], requests: [] })
        expect(await log.story(delivery!)).toMatchObject({ state: 'delivered' })
        expect(await log.audit()).toEqual(await store.audit())
      },
      { write: false },
    )
  })

  test('shows a store without a delivering process', async () => {
    const store = await SqliteStore.open(path)
    await add(store, 'm_1')
    await store.close()
    const log = await SqliteLog.open(path, { write: false })
    expect(await log.list({ filter: {}, limit: 10 })).toHaveLength(1)
    await log.close()
  })

  test('retries deliveries, which the delivering process then claims', async () => {
    await withLog(async (store, log) => {
      await add(store, 'm_1')
      const [delivery] = await claim(store)
      await store.settle({ nowMs, settlements: [ended('failed', delivery!)], requests: [] })
      expect(await log.retry({ nowMs, filter: {}, limit: 10 })).toMatchObject({ deliveries: 1 })
      expect(await claim(store, 'manual')).toMatchObject([{ messageId: 'm_1', windowAttempts: 0 }])
    })
  })

  test('does not retry a leased delivery again if its round ends it', async () => {
    await withLog(async (store, log) => {
      await add(store, 'm_1')
      const [first] = await claim(store)
      await store.settle({ nowMs, settlements: [retried(first!)], requests: [] })
      const [second] = await claim(store, 'retry')
      expect(await log.retry({ nowMs, filter: {}, limit: 10 })).toMatchObject({ deliveries: 1 })
      await store.settle({ nowMs, settlements: [delivered(second!)], requests: [] })
      expect(await claim(store, 'manual')).toEqual([])
      expect(await store.ledger()).toMatchObject({ delivered: 1, pending: 0 })
    })
  })

  test('makes a leased delivery due at once if its round fails', async () => {
    await withLog(async (store, log) => {
      await add(store, 'm_1')
      const [first] = await claim(store)
      await store.settle({ nowMs, settlements: [retried(first!)], requests: [] })
      const [second] = await claim(store, 'retry')
      await log.retry({ nowMs, filter: {}, limit: 10 })
      await store.settle({ nowMs, settlements: [retried(second!, nowMs + 1)], requests: [] })
      expect(await claim(store, 'manual')).toMatchObject([{ attempts: 2, windowAttempts: 0 }])
    })
  })

  test('shows the end that another process wrote, not a later settlement', async () => {
    await withLog(async (store, log) => {
      await add(store, 'm_1')
      const [delivery] = await claim(store)
      const other = await openDatabase(path, 'write')
      other.exec(`
        BEGIN; UPDATE deliveries SET state = 'expired', settled_at = 1;
        UPDATE counts SET count = count - 1 WHERE name = 'pending';
        INSERT INTO counts VALUES ('crm', 'expired', 1); COMMIT`)
      other.close()
      await store.settle({ nowMs, settlements: [delivered(delivery!)], requests: [] })
      expect(await log.story(delivery!)).toMatchObject({ state: 'expired', settledAtMs: 1 })
    })
  })

  test('does not retry when it was opened read-only', async () => {
    await withLog(
      async (store, log) => {
        await add(store, 'm_1')
        const [delivery] = await claim(store)
        await store.settle({ nowMs, settlements: [ended('failed', delivery!)], requests: [] })
        const message = expect.stringContaining('readonly database') as string
        const refused = { code: 'store_unusable', message }
        const retry = log.retry({ nowMs, filter: {}, limit: 10 })
        await expect(retry).rejects.toMatchObject(refused)
      },
      { write: false },
    )
  })

  test('works beside a busy delivering process, without disturbing it', async () => {
    const deliverer = startSource(new URL('deliver-on.ts', import.meta.url), [path])
    await once(deliverer.stdout!, 'data')
    const [reader, writer] = [
      await SqliteLog.open(path, { write: false }),
      await SqliteLog.open(path, { write: true }),
    ]
    let retriedCount = 0
    for (let turn = 0; turn < 20; turn++) {
      await reader.list({ filter: { states: ['failed'] }, limit: 5 })
      expectBalance(await reader.audit())
      const { deliveries } = await writer.retry({ nowMs: 1_000, filter: {}, limit: 3 })
      retriedCount += deliveries
    }
    deliverer.kill('SIGTERM')
    const [output, exit] = await Promise.all([text(deliverer.stdout!), once(deliverer, 'exit')])
    expect(exit).toEqual([0, null])
    expect(retriedCount).toBeGreaterThan(0)
    const audit = JSON.parse(output) as StoreAudit
    expectBalance(audit)
    expect(await reader.audit()).toEqual(audit)
    await Promise.all([reader.close(), writer.close()])
  })

  test('rejects with store_closed after close, which can be called again', async () => {
    await withLog(async (_store, log) => {
      await log.close()
      await log.close()
      await expect(log.audit()).rejects.toMatchObject({ code: 'store_closed' })
    })
  })

  test('rejects a waiting call with store_closed when it closes', async () => {
    await withLog(async (_store, log) => {
      const busy = await openDatabase(path, 'write')
      busy.exec('BEGIN IMMEDIATE')
      const rejected = expect(log.retry({ nowMs, filter: {}, limit: 1 })).rejects.toMatchObject({
        code: 'store_closed',
      })
      // By then the retry is queued, and finds the file locked.
      await nextTurn()
      await log.close()
      busy.close()
      await rejected
    })
  })

  describe.each([{ write: false }, { write: true }])('with %o refuses', (options) => {
    async function expectRefused(hint: string | RegExp): Promise<void> {
      const opened = SqliteLog.open(path, options)
      await expect(opened).rejects.toMatchObject({
        code: 'store_unusable',
        hint: expect.stringMatching(hint) as string,
      })
    }

    test('a missing file, and does not create it', async () => {
      await expectRefused('Name the file of an existing store')
      expect(existsSync(path)).toBe(false)
    })

    test('a folder', async () => {
      await mkdir(path)
      await expectRefused('Name a file in it')
    })

    test('a file that is not a database', async () => {
      await writeFile(path, 'a shopping list\n'.repeat(100))
      await expectRefused(/^Name a different file\.$/)
    })

    test('an empty file, and does not change it', async () => {
      await writeFile(path, '')
      await expectRefused('Start `evroute serve` on it once, which creates the store')
      const opened = SqliteLog.open(path, options)
      await expect(opened).rejects.toThrow(`${path}: the file contains no store yet`)
      const after = await openDatabase(path)
      expect(after.prepare('SELECT name FROM sqlite_schema').all()).toEqual([])
      after.close()
    })

    test('the database of another program', async () => {
      const other = await openDatabase(path)
      other.exec('CREATE TABLE notes (text TEXT)')
      other.close()
      await expectRefused(/^Name a different file\.$/)
    })

    test.each([
      ['an older version', 8, 'start `evroute serve` of this version'],
      ['a version that is too old', 7, 'format 8 and later'],
      ['a newer version', 1_000, 'Use that version'],
    ])('a file of %s', async (_name, version, hint) => {
      await (await SqliteStore.open(path)).close()
      const other = await openDatabase(path)
      other.exec(`PRAGMA user_version = ${version}`)
      other.close()
      await expectRefused(hint)
    })
  })
})
