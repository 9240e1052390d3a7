import { statSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Regulations } from '../../../src/privacy/index.ts'
import { ManualClock } from '../../../src/runtime/index.ts'
import { openDatabase, type Database } from '../../../src/store/sqlite/database.ts'
import { ErasureTraces } from '../../../src/store/sqlite/erasure-traces.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { eventAbout } from '../../conformance/regulation-store-under-test.ts'
import { nowMs } from '../../conformance/store-under-test.ts'
import { recordingRuntime } from '../../support/recording-runtime.ts'
import { newPath, withMethods } from './store-calls.ts'

/** SQLite's error for a full disk. */
const noRoom = Object.assign(new Error('database or disk is full'), { errcode: 13 })

/** Returns a database that calls `rewrite` before each VACUUM. If `rewrite` throws, the VACUUM fails. */
function watched(database: Database, rewrite: () => void): Database {
  return withMethods(database, {
    exec: (sql) => {
      if (sql === 'VACUUM') rewrite()
      database.exec(sql)
    },
  })
}

/** Makes a file of about 400 KB, which is not a store, and its traces. */
async function tracesOf(
  freeBytes: (path: string) => number,
  rewrite: () => void = () => undefined,
) {
  const path = await newPath()
  const database = await openDatabase(path)
  onTestFinished(() => database.close())
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE texts (text)')
  for (let row = 0; row < 100; row++) database.exec('INSERT INTO texts VALUES (zeroblob(4000))')
  const guard = { beforeBegin: () => undefined }
  const traces = new ErasureTraces(watched(database, rewrite), { path, guard, freeBytes })
  return { path, traces, database }
}

describe('traces of erased data', () => {
  test('stay if there is too little room to rewrite the file, which is not tried then', async () => {
    let tries = 0
    const { path, traces } = await tracesOf(
      () => 300_000,
      () => tries++,
    )
    expect(traces.rewrite()).toEqual({
      kind: 'held_up',
      reason: expect.stringMatching(
        `^Cannot rewrite ${path}: .* 1 MB of free space, but only 1 MB are free`,
      ) as string,
      hint: expect.stringContaining('Free up space') as string,
    })
    expect(tries).toBe(0)
  })

  test('are removed if the system reports enough room', async () => {
    const path = await newPath()
    const database = await openDatabase(path)
    onTestFinished(() => database.close())
    const guard = { beforeBegin: () => undefined }
    expect(new ErasureTraces(database, { path, guard }).rewrite()).toBe('done')
  })

  test('leave no long log behind if the rewrite fails', async () => {
    const { path, traces } = await tracesOf(
      () => Infinity,
      () => {
        throw noRoom
      },
    )
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(400_000)
    expect(traces.rewrite()).toMatchObject({
      kind: 'held_up',
      reason: `Cannot rewrite ${path}: database or disk is full`,
    })
    expect(statSync(`${path}-wal`).size).toBe(0)
  })

  test('let other errors of the rewrite through', async () => {
    const { traces } = await tracesOf(
      () => Infinity,
      () => {
        throw new Error('It is damaged')
      },
    )
    expect(() => traces.rewrite()).toThrow('It is damaged')
  })
})

describe('regulations of a file', () => {
  /** Opens regulations and a store with one delivery for each user. */
  async function open(rewrite: () => void, users: readonly string[]) {
    const store = await SqliteStore.open(await newPath(), async (path) =>
      watched(await openDatabase(path), rewrite),
    )
    onTestFinished(() => store.close())
    const events = users.map((userId) => eventAbout(userId))
    await store.add({ nowMs, seenSinceMs: 0, events, handOver: [] })
    const clock = new ManualClock(nowMs)
    const { runtime, warnings } = recordingRuntime(clock)
    const regulations = new Regulations({
      store: store.regulations,
      configuration: () => ({ sources: [{ id: 'website' }], destinations: [] }),
      eraseArchives: () => Promise.resolve({ events: 0, files: 0, problems: [] }),
      wake: () => undefined,
      runtime,
    })
    onTestFinished(() => regulations.close())
    const create = (userId: string) =>
      regulations.create({ type: 'DELETE_INTERNAL', userIds: [userId], sourceIds: null })
    return { store, regulations, clock, warnings, create }
  }

  test('rewrite it once if they are due together', async () => {
    let rewrites = 0
    const users = ['u_1', 'u_2', 'u_3', 'u_4']
    const { store, regulations, create } = await open(() => rewrites++, users)
    await Promise.all(users.map(create))
    await regulations.idle()
    const made = await store.regulations.list({ limit: 10 })
    expect(made.map(({ erased, finishedAtMs }) => [erased.pending, finishedAtMs])).toEqual(
      users.map(() => [1, nowMs]),
    )
    expect(rewrites).toBe(1)
  })

  test('wait until they can rewrite it, and disturb nothing meanwhile', async () => {
    let isFull = true
    const { store, regulations, create, clock, warnings } = await open(() => {
      if (isFull) throw noRoom
    }, ['u_1', 'u_2'])
    await create('u_1')
    await regulations.idle()
    expect(await store.regulations.list({ limit: 10 })).toMatchObject([
      { erased: { pending: 1 }, isStoreErased: false, archive: { events: 0 } },
    ])
    expect(warnings).toMatchObject([{ hint: expect.stringContaining('Free up space') as string }])
    const { outcomes } = await store.add({
      nowMs,
      seenSinceMs: 0,
      events: [eventAbout('u_3')],
      handOver: [],
    })
    expect(outcomes).toEqual(['routed'])
    isFull = false
    await clock.advance(1_000)
    await regulations.idle()
    expect(await store.regulations.list({ limit: 10 })).toMatchObject([
      { isStoreErased: true, finishedAtMs: nowMs + 1_000 },
    ])
    expect(await store.ledger()).toMatchObject({ failed: 1, pending: 2 })
  })
})
