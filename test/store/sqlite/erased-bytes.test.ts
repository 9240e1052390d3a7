import { seededRandom } from '../../../src/receiver/faults/seeded-random.ts'
import type { EraseResult } from '../../../src/privacy/index.ts'
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { LeasedDelivery, NewEvent, Settlement } from '../../../src/delivery/index.ts'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import {
  delivered,
  ended,
  nowMs,
  requestOf,
  retried,
  returned,
} from '../../conformance/store-under-test.ts'
import { newPath } from './store-calls.ts'

const destinationIds = ['ads', 'crm', 'mail', 'shop']
const userIds = Array.from({ length: 120 }, (_, index) => `<user ${index}>`)
const [erasedIds, otherIds] = [userIds.slice(0, 60), userIds.slice(60)]

/** Counts each text in the file of a store, and in the files beside it. */
function occurrences(path: string, texts: readonly string[]): readonly (readonly number[])[] {
  const [file = '', ...others] = ['', '-wal', '-shm', '-lock', '-journal'].map((suffix) => {
    return existsSync(path + suffix) ? readFileSync(path + suffix).toString('latin1') : ''
  })
  const beside = others.join()
  return texts.map((text) => [file, beside].map((bytes) => bytes.split(text).length - 1))
}

/** Gives a store a history: rows in the middle of its trees, bodies of every length, purges and retries. */
class History {
  readonly #store: SqliteStore
  readonly #random: () => number

  constructor(store: SqliteStore, random: () => number) {
    this.#store = store
    this.#random = random
  }

  async run(): Promise<void> {
    for (let round = 0; round < 20; round++) {
      const events = Array.from({ length: 25 }, (_, index) => this.#event(`${round}-${index}`))
      await this.#store.add({ nowMs: nowMs + round, seenSinceMs: 0, events, handOver: [] })
      await this.#deliver(nowMs + round)
      if (round % 5 === 4) await this.#purge(nowMs + round - 3)
    }
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.#random() * items.length)]!
  }

  #event(name: string): NewEvent {
    const userId = this.#pick(userIds)
    const isAlias = this.#random() < 0.1
    const messageId = this.#random() < 0.5 ? `${name} of ${userId}` : name
    const padding = 'x'.repeat(Math.floor(this.#random() ** 8 * 20_000))
    const shared = JSON.stringify({ userId, messageId, padding })
    const deliveries = destinationIds
      .filter(() => this.#random() < 0.6)
      .map((destinationId) => {
        const own = JSON.stringify({ destinationId, userId, padding })
        return { destinationId, body: this.#random() < 0.7 ? shared : own }
      })
    const replaced = isAlias ? { type: 'alias' as const, previousId: this.#pick(userIds) } : {}
    return { sourceId: 'website', messageId, type: 'track', userId, deliveries, ...replaced }
  }

  async #deliver(atMs: number): Promise<void> {
    const shares = destinationIds.flatMap((destinationId) =>
      (['first', 'retry', 'manual'] as const).map((lane) => {
        return { destinationId, lane, deliveriesMax: 8, dueByMs: atMs }
      }),
    )
    const claimed = await this.#store.claim({ nowMs: atMs, shares })
    const requests = claimed.map((delivery) => {
      const excerpt = `no room for ${delivery.body.slice(0, 300)}`
      return requestOf(delivery, { atMs, excerpt })
    })
    const settlements = claimed.map((delivery) => this.#settlementOf(delivery))
    await this.#store.settle({ nowMs: atMs, settlements, requests })
    await this.#store.retry({ nowMs: atMs, filter: {}, limit: 3 })
  }

  #settlementOf(delivery: LeasedDelivery): Settlement {
    const chance = this.#random()
    if (chance < 0.5) return delivered(delivery)
    if (chance < 0.6) return ended('failed', delivery)
    if (chance < 0.7) return ended('expired', delivery)
    if (chance < 0.8) return returned(delivery)
    return retried(delivery)
  }

  async #purge(beforeMs: number): Promise<void> {
    await this.#store.purge({
      nowMs: beforeMs,
      deliveredBeforeMs: beforeMs,
      failedBeforeMs: beforeMs,
      abandonedBeforeMs: 0,
      messageIdsBeforeMs: beforeMs,
      rowsMax: 100,
    })
  }
}

async function erase(store: SqliteStore, id: string): Promise<EraseResult> {
  for (;;) {
    const result = await store.regulations.erase({ id, nowMs, rowsMax: 300 })
    if (result !== 'more') return result
  }
}

/** Makes a notification to two destinations, which share its body. */
function notification(userId: string, index: number): NewEvent {
  const body = JSON.stringify({ type: 'delete', userId })
  const deliveries = ['ads', 'crm'].map((destinationId) => ({ destinationId, body }))
  return { sourceId: 'website', messageId: `n-${index}`, type: 'delete', userId, deliveries }
}

async function deliverNotifications(store: SqliteStore): Promise<void> {
  const shares = ['ads', 'crm'].map((destinationId) => {
    return { destinationId, lane: 'first', deliveriesMax: 10_000, dueByMs: nowMs + 1_000 } as const
  })
  const claimed = await store.claim({ nowMs: nowMs + 1_000, shares })
  const settlements = claimed.map((delivery) => {
    return delivery.type === 'delete' ? delivered(delivery) : returned(delivery)
  })
  await store.settle({ nowMs: nowMs + 1_000, settlements, requests: [] })
}

describe('the files of a store', () => {
  test.each([1, 2])('contain nothing about erased users (history %i)', async (seed) => {
    const path = await newPath()
    const store = await SqliteStore.open(path)
    await new History(store, seededRandom(seed)).run()
    const regulation = {
      id: 'r_1',
      type: 'SUPPRESS_WITH_DELETE',
      userIds: erasedIds,
      sourceIds: null,
    } as const
    const notifications = erasedIds.map(notification)
    await store.regulations.create({ regulation, notifications, nowMs: nowMs + 1_000 })

    expect(await erase(store, 'r_1')).toBe('waiting')
    // The regulation, the suppression, two notifications, each in the table and in the index by user, and
    // the body that they share.
    expect(occurrences(path, erasedIds)).toEqual(erasedIds.map(() => [7, 0]))

    await deliverNotifications(store)
    expect(await erase(store, 'r_1')).toBe('nothing')
    expect(occurrences(path, erasedIds)).toEqual(erasedIds.map(() => [2, 0]))
    const others = occurrences(path, otherIds).filter(([inFile]) => inFile! > 1)
    expect(others.length).toBeGreaterThan(30)
    await store.close()
    expect(occurrences(path, erasedIds)).toEqual(erasedIds.map(() => [2, 0]))
  })

  test('are not reported as erased while a reader keeps the log', async () => {
    const path = await newPath()
    const store = await SqliteStore.open(path)
    await new History(store, seededRandom(4)).run()
    const regulation = { id: 'r_1', type: 'DELETE_INTERNAL', userIds, sourceIds: null } as const
    await store.regulations.create({ regulation, notifications: [], nowMs: nowMs + 1_000 })
    const reader = await openDatabase(path, 'read')
    reader.exec('BEGIN')
    reader.prepare('SELECT count(*) FROM deliveries').get()
    expect(await erase(store, 'r_1')).toBe('waiting')
    expect(await erase(store, 'r_1')).toBe('waiting')
    expect(await store.regulations.find({ id: 'r_1' })).toMatchObject({ isStoreErased: false })
    reader.exec('COMMIT')
    reader.close()
    expect(await erase(store, 'r_1')).toBe('nothing')
    expect(await store.regulations.find({ id: 'r_1' })).toMatchObject({ isStoreErased: true })
    expect(occurrences(path, userIds)).toEqual(userIds.map(() => [1, 0]))
    await store.close()
  })
})
