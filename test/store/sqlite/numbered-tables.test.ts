import { readFile } from 'node:fs/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { SqliteExport } from '../../../src/store/migration/sqlite-export.ts'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { nowMs } from '../../conformance/store-under-test.ts'
import { makeOlderStore, rowsOf } from './older-store.ts'
import { claim, newPath, openStore } from './store-calls.ts'

let path = ''
beforeEach(async () => {
  path = await newPath()
})

describe('a file in which the destination is part of the keys', () => {
  test('keeps every column of its deliveries and requests', async () => {
    await makeOlderStore(path)
    const deliveries = await rowsOf(path, 'SELECT * FROM deliveries ORDER BY id')
    const requests = await rowsOf(path, 'SELECT * FROM requests ORDER BY delivery_id, id')
    await openStore(path)
    const noTry = {
      try_url: null,
      try_at: null,
      try_duration: null,
      try_status: null,
      try_excerpt: null,
    }
    expect(await rowsOf(path, 'SELECT * FROM deliveries ORDER BY id')).toEqual(
      deliveries.map((row) => ({ ...(row as object), ...noTry })),
    )
    const kept = `SELECT destination_id, requests.* FROM requests
      JOIN deliveries ON deliveries.id = delivery_id ORDER BY delivery_id, requests.id`
    expect(await rowsOf(path, kept)).toEqual(requests)
  })

  test('is delivered from, listed, retried and audited as before', async () => {
    await makeOlderStore(path)
    const store = await openStore(path)
    const listed = await store.list({ filter: {}, limit: 10 })
    expect(listed.map(({ id, destinationId, state }) => [id, destinationId, state])).toEqual([
      [6, 'ads', 'delivered'],
      [5, 'ads', 'expired'],
      [4, 'crm', 'pending'],
      [3, 'ads', 'failed'],
      [2, 'crm', 'pending'],
      [1, 'ads', 'delivered'],
    ])
    expect(await store.story({ destinationId: 'ads', id: 3 })).toMatchObject({
      body: '{"n":2}',
      requests: [{ excerpt: 'busy' }, { error: 'no such host' }],
    })
    expect(await store.story({ destinationId: 'crm', id: 3 })).toBeUndefined()
    expect((await claim(store)).map(({ id }) => id)).toEqual([2, 4])
    expect(await store.retry({ nowMs, filter: { destinationId: 'ads' }, limit: 10 })).toBe(2)
    expect(await store.audit()).toMatchObject({
      ledger: { deliveries: 6, pending: 4, delivered: 2, failed: 0, expired: 0 },
      counted: { pending: 4, delivered: 2, failed: 0, expired: 0 },
      withoutBody: 0,
    })
  })

  test('is as it was where a step fails, and can be opened again', async () => {
    await makeOlderStore(path, 'CREATE TABLE deliveries_before (id INTEGER)')
    await expect(SqliteStore.open(path)).rejects.toThrow('already')
    const other = await openDatabase(path, 'write')
    other.exec('DROP TABLE deliveries_before')
    other.close()
    expect(await (await openStore(path)).list({ filter: {}, limit: 10 })).toHaveLength(6)
  })

  test('leaves nothing of its old tables behind when a move brings it up to date', async () => {
    const requests = Array.from({ length: 400 }, (_, index) => {
      return `INSERT INTO requests VALUES ('ads', 1, ${index + 2}, 1, 'first', 'https://example.com/', 1, 1,
        'retry', 500, NULL, 'an excerpt of an answer')`
    })
    await makeOlderStore(path, requests.join(';'))
    const opened = await SqliteExport.open(path, () => 'store-1')
    opened.close()
    await (await SqliteStore.open(path)).close()
    const bytes = await readFile(path)
    expect(bytes.toString('latin1').split('an excerpt of an answer')).toHaveLength(401)
  })
})

/** An erasure of `u_3` of everything, which has come to a stage. */
function regulation(stage: string, key: string, id: number): string {
  const streams = [{ sourceId: 'website', destinationId: 'ads', pending: 1 }]
  return `INSERT INTO regulations VALUES (1, 'r_1', 'DELETE_ONLY', NULL, 9, NULL, 5, 6, '${stage}',
      '${key}', ${id}, 0, 0, 0, 0, NULL, '${JSON.stringify(streams)}');
    INSERT INTO regulation_users VALUES (1, 'u_3', 1)`
}

async function finishErasure(): Promise<SqliteStore> {
  const store = await openStore(path)
  for (let step = 0; step < 20; step++) {
    await store.regulations.erase({ id: 'r_1', nowMs, rowsMax: 100 })
  }
  return store
}

describe('an erasure that was under way in such a file', () => {
  test('leaves nobody out', async () => {
    await makeOlderStore(path, regulation('deliveries', 'ads', 6))
    const store = await finishErasure()
    expect(await store.regulations.find({ id: 'r_1' })).toMatchObject({ isStoreErased: true })
    expect(await store.list({ filter: { userId: 'u_3' }, limit: 10 })).toEqual([])
    expect(await store.story({ destinationId: 'crm', id: 4 })).toMatchObject({ state: 'failed' })
  })

  test('counts nobody twice who was given out when it came by', async () => {
    const left = "INSERT INTO regulation_left VALUES (1, 'crm', 4)"
    await makeOlderStore(path, `${regulation('deliveries', 'crm', 4)}; ${left}`)
    const store = await finishErasure()
    const erased = { pending: 1, settled: 0, members: 0 }
    expect(await store.regulations.find({ id: 'r_1' })).toMatchObject({ erased })
  })

  test('comes back to whom it left out', async () => {
    const left = "INSERT INTO regulation_left VALUES (1, 'crm', 4)"
    await makeOlderStore(path, `${regulation('left', '', 0)}; ${left}`)
    const store = await finishErasure()
    expect(await store.story({ destinationId: 'crm', id: 4 })).toMatchObject({ state: 'failed' })
  })

  test('erases every notification that was delivered', async () => {
    await makeOlderStore(path, regulation('notifications', 'ads', 6))
    const store = await finishErasure()
    expect(await store.story({ destinationId: 'ads', id: 6 })).toMatchObject({ userId: null })
  })
})
