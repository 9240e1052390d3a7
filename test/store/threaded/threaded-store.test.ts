import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Worker } from 'node:worker_threads'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { AddResult, LeasedDelivery } from '../../../src/delivery/index.ts'
import type { RequestRecord } from '../../../src/model/index.ts'
import type { Store } from '../../../src/store/index.ts'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { openThreadedStore, startThread } from '../../../src/store/threaded/threaded-store.ts'
import type { Thread } from '../../../src/threads/index.ts'
import {
  addAndLease,
  delivered,
  event,
  events,
  nowMs,
  requestOf,
} from '../../conformance/store-under-test.ts'
import { countSurvivors } from '../../support/collect-garbage.ts'
import { runSource } from '../../support/run-source.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { startSharedThread } from './shared-threads.ts'

const typescript = new URL('../../support/typescript.js', import.meta.url).href
const threadedStore = new URL('../../../src/store/threaded/threaded-store.ts', import.meta.url).href

let path: string

beforeEach(async () => {
  path = join(await temporaryFolder(), 'store.db')
})

async function openShared(): Promise<Store> {
  const store = await openThreadedStore(path, startSharedThread)
  onTestFinished(() => store.close())
  return store
}

/** Adds an event, and leases its delivery at once. */
async function leaseOne(store: Store): Promise<LeasedDelivery> {
  const handOver = [{ destinationId: 'crm', deliveriesMax: 1 }]
  const { leased } = await addAndLease(store, { ...batchOf('m_1'), handOver })
  expect(leased).toHaveLength(1)
  return leased[0]!
}

function batchOf(...messageIds: readonly string[]) {
  const added = messageIds.map((messageId) => event(messageId, 'crm'))
  return { nowMs, seenSinceMs: 0, events: added, handOver: [] }
}

/** Opens a store, and returns its thread too. */
async function openWithThread(): Promise<{ store: Store; thread: Worker }> {
  const threads: Worker[] = []
  const store = await openThreadedStore(path, () => {
    const thread = startThread()
    threads.push(thread)
    return thread
  })
  return { store, thread: threads[0]! }
}

describe('a store in its own thread', () => {
  test('does not keep a batch in memory after sending it to the thread', async () => {
    const store = await openShared()
    const other = await openDatabase(path)
    other.exec('BEGIN IMMEDIATE')
    const addOne = (): readonly [WeakRef<object>, Promise<AddResult>] => {
      const batch = batchOf('m_1')
      return [new WeakRef(batch.events[0]!), store.add(batch)]
    }
    const [added, adding] = addOne()
    expect(await countSurvivors([added])).toBe(0)
    other.exec('ROLLBACK')
    other.close()
    expect(await adding).toEqual({ outcomes: ['routed'], leased: [], refused: [] })
  })

  test('does not block this thread, so this thread can release a lock of the file', async () => {
    const store = await openShared()
    const other = await openDatabase(path)
    other.exec('BEGIN IMMEDIATE')
    const order: string[] = []
    const added = store.add(batchOf('m_1')).then(() => order.push('added'))
    // If the store ran in this thread, the first turn would last until the engine gives up.
    for (let turn = 0; turn < 5; turn++) await nextTurn()
    order.push('unlocked')
    other.exec('COMMIT')
    other.close()
    await added
    expect(order).toEqual(['unlocked', 'added'])
  })

  test('ends a lease once, by its number', async () => {
    const store = await openShared()
    const { leased } = await addAndLease(store, {
      ...batchOf('m_1', 'm_2'),
      handOver: [{ destinationId: 'crm', deliveriesMax: 1 }],
    })
    expect(leased).toHaveLength(1)
    const settle = (settlements: Parameters<typeof store.settle>[0]['settlements']) =>
      store.settle({ nowMs, settlements, requests: [] })
    await settle([delivered({ ...leased[0]!, lease: leased[0]!.lease + 1_000 })])
    expect((await store.ledger()).delivered).toBe(0)
    await settle([delivered(leased[0]!)])
    await settle([delivered(leased[0]!)])
    expect((await store.ledger()).delivered).toBe(1)
  })

  test('keeps leases whose settlement failed, so that they can be settled later', async () => {
    const store = await openShared()
    const delivery = await leaseOne(store)
    const unknown = requestOf(delivery, { outcome: 'unknown' as 'final' })
    const settle = (requests: readonly RequestRecord[]) =>
      store.settle({ nowMs, settlements: [delivered(delivery)], requests })
    await expect(settle([unknown])).rejects.toThrow()
    expect(await store.ledger()).toMatchObject({ delivered: 0, pending: 1 })
    await settle([requestOf(delivery)])
    expect(await store.ledger()).toMatchObject({ delivered: 1, pending: 0 })
  })

  test('is closed after all earlier calls', async () => {
    const store = await openShared()
    await store.add(batchOf('m_0'))
    const added = events(20, 'crm').map((each) => store.add({ ...batchOf(), events: [each] }))
    await nextTurn()
    const answers = Promise.allSettled(added)
    await store.close()
    const confirmed = (await answers).filter(({ status }) => status === 'fulfilled').length
    const after = await SqliteStore.open(path)
    onTestFinished(() => after.close())
    expect((await after.ledger()).accepted).toBe(confirmed + 1)
  })

  test('rejects calls after it was closed', async () => {
    const store = await openShared()
    const closed = store.close()
    await expect(store.ledger()).rejects.toMatchObject({ code: 'store_closed' })
    expect(store.close()).toBe(closed)
    await closed
    await expect(store.audiences.list()).rejects.toMatchObject({ code: 'store_closed' })
  })

  test('throws the errors of the engine', async () => {
    await openShared()
    await expect(openThreadedStore(path, startSharedThread)).rejects.toMatchObject({
      name: 'EvrouteError',
      code: 'store_in_use',
      message: `Cannot deliver from ${path}: another process is delivering from it or moving it`,
      hint: 'Stop that process or wait until it has ended, or name a different store.',
    })
  })

  test('rejects only calls with values that cannot be sent to a thread', async () => {
    const store = await openShared()
    const filter = { userId: (() => 'u_1') as unknown as string }
    const refused = store.list({ filter, limit: 1 })
    const others = [store.list({ filter: {}, limit: 1 }), store.list({ filter: {}, limit: 1 })]
    await expect(refused).rejects.toThrow('could not be cloned')
    expect(await Promise.all(others)).toEqual([[], []])
  })
})

describe('look-ups of deliveries', () => {
  test('are answered while the writing thread is blocked', async () => {
    const store = await openThreadedStore(path)
    onTestFinished(() => store.close())
    await store.add(batchOf('m_1'))
    const other = await openDatabase(path)
    other.exec('BEGIN IMMEDIATE')
    const added = store.add(batchOf('m_2'))
    const [delivery] = await store.list({ filter: {}, limit: 10 })
    expect(await store.story(delivery!)).toMatchObject({ messageId: 'm_1' })
    expect(await store.audit()).toMatchObject({ ledger: { accepted: 1 }, counted: { pending: 1 } })
    other.exec('COMMIT')
    other.close()
    expect(await added).toMatchObject({ outcomes: ['routed'] })
    expect(await store.audit()).toMatchObject({ counted: { pending: 2 } })
  })

  test('have a thread that starts with the first look-up and ends with the store', async () => {
    const threads: Worker[] = []
    const store = await openThreadedStore(path, () => {
      threads.push(startThread())
      return threads.at(-1)!
    })
    await store.add(batchOf('m_1'))
    expect(threads).toHaveLength(1)
    await Promise.all([store.audit(), store.list({ filter: {}, limit: 1 })])
    await store.audit()
    expect(threads).toHaveLength(2)
    await store.close()
    expect(threads.map(({ threadId }) => threadId)).toEqual([-1, -1])
    expect(existsSync(`${path}-wal`)).toBe(false)
    await expect(store.audit()).rejects.toMatchObject({ code: 'store_closed' })
  })

  test('get a new thread if theirs has ended, which also ends with the store', async () => {
    const threads: Worker[] = []
    const store = await openThreadedStore(path, () => {
      threads.push(startThread())
      return threads.at(-1)!
    })
    await store.add(batchOf('m_1'))
    await store.audit()
    await threads[1]!.terminate()
    const answers = await Promise.all([store.audit(), store.list({ filter: {}, limit: 1 })])
    expect(answers).toMatchObject([{ ledger: { accepted: 1 } }, [{ messageId: 'm_1' }]])
    expect(threads).toHaveLength(3)
    await store.close()
    expect(threads.map(({ threadId }) => threadId)).toEqual([-1, -1, -1])
  })

  test('start a new thread after one could not start', async () => {
    let isRefused = false
    const store = await openThreadedStore(path, () => {
      if (isRefused) throw new Error('no more threads')
      return startSharedThread()
    })
    isRefused = true
    onTestFinished(() => store.close())
    await expect(store.audit()).rejects.toThrow('no more threads')
    isRefused = false
    expect(await store.audit()).toMatchObject({ ledger: { accepted: 0 } })
  })
})

describe('the thread of a store', () => {
  const died = (why: string) => ({
    name: 'StoreUnusableError',
    code: 'store_unusable',
    isTemporary: false,
    message: expect.stringContaining(
      `Cannot use the store ${path}: its thread has ${why}`,
    ) as string,
  })

  test('rejects all calls if it ends by itself, and releases the file', async () => {
    const { store, thread } = await openWithThread()
    await store.add(batchOf('m_1'))
    const pending = [store.add(batchOf('m_2')), store.ledger(), store.audiences.list()]
    void thread.terminate()
    for (const answer of await Promise.allSettled(pending)) {
      expect(answer).toMatchObject({ status: 'rejected', reason: died('ended with exit code 1') })
    }
    await expect(store.checkWritable()).rejects.toMatchObject(died('ended with exit code 1'))
    await store.close()
    const after = await SqliteStore.open(path)
    onTestFinished(() => after.close())
    expect((await after.ledger()).accepted).toBeGreaterThanOrEqual(1)
  })

  test('rejects all calls after an unexpected error', async () => {
    const { store, thread } = await openWithThread()
    const failed = new Promise((resolve) => thread.once('exit', resolve))
    thread.postMessage(null)
    await failed
    await expect(store.ledger()).rejects.toMatchObject(died('failed: calls is not iterable'))
    await store.close()
  })

  test('is given up if it hangs, as on a disk that does not answer', async () => {
    let hangs = false
    const hanging = (): Thread => {
      const worker = startThread()
      onTestFinished(async () => {
        await worker.terminate()
      })
      return Object.assign(Object.create(worker) as Thread, {
        on: worker.on.bind(worker),
        ref: () => worker.ref(),
        unref: () => worker.unref(),
        postMessage: (calls: unknown) => hangs || worker.postMessage(calls),
        terminate: () => (hangs ? new Promise<never>(() => undefined) : worker.terminate()),
      })
    }
    const store = await openThreadedStore(path, hanging)
    hangs = true
    const pending = [store.add(batchOf('m_1')), store.ledger(), store.audit()]
    await nextTurn()
    store.disconnect?.()
    const unusable = { code: 'store_unusable', isTemporary: true, message: /does not answer/ }
    for (const answer of await Promise.allSettled(pending)) {
      expect(answer).toMatchObject({
        status: 'rejected',
        reason: { ...unusable, message: expect.stringMatching(unusable.message) as string },
      })
    }
    await store.close()
  })

  test('has ended once the store is closed', async () => {
    const { store, thread } = await openWithThread()
    await store.close()
    expect(thread.threadId).toBe(-1)
  })

  test('can be started by a program that is passed with -e', async () => {
    const options = ['--import', typescript, '--input-type=module', '-e']
    const program = `import { openThreadedStore } from '${threadedStore}'
      const store = await openThreadedStore(${JSON.stringify(path)})
      console.log((await store.ledger()).accepted)
      await store.close()`
    const { stdout } = await promisify(execFile)(process.execPath, [...options, program])
    expect(stdout).toBe('0\n')
  })

  test('keeps the process alive until its calls are answered, and no longer', async () => {
    const program = new URL('leave-open.ts', import.meta.url)
    expect(await runSource(program, [path])).toBe('stored\n')
    const after = await SqliteStore.open(path)
    onTestFinished(() => after.close())
    expect((await after.ledger()).accepted).toBe(1)
  })
})
