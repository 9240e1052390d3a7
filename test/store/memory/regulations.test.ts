import type { EraseResult } from '../../../src/privacy/index.ts'
import { describe, expect, test } from 'vitest'
import { MemoryRegulations } from '../../../src/store/memory/memory-regulations.ts'
import { MemoryStore } from '../../../src/store/memory/memory-store.ts'
import {
  deliveryOrigin,
  storedDelivery,
  type StoredDelivery,
} from '../../../src/store/memory/stored-delivery.ts'
import { Suppressions } from '../../../src/store/memory/suppressions.ts'
import { eventAbout } from '../../conformance/regulation-store-under-test.ts'
import { regulationStoreSuite } from '../../conformance/regulation-store.ts'
import { nowMs } from '../../conformance/store-under-test.ts'

regulationStoreSuite('MemoryStore', () => Promise.resolve(new MemoryStore()))

describe('an erasure in memory', () => {
  const rowsMax = 1_000
  const regulation = {
    id: 'r_1',
    type: 'DELETE_INTERNAL',
    userIds: ['u_1'],
    sourceIds: null,
  } as const

  /** Regulations over deliveries of a test, and what each step looked at. */
  function regulationsOver(deliveries: ReadonlyMap<number, StoredDelivery>, lastId: number) {
    let asked = 0
    const erasedIds: number[] = []
    const regulations = new MemoryRegulations({
      open: () => Promise.resolve(),
      add: () => [],
      lastId: () => lastId,
      find: (id) => {
        asked++
        return deliveries.get(id)
      },
      erase: (erased) => erasedIds.push(...erased.map(({ id }) => id)),
      eraseMember: () => 0,
      suppressions: new Suppressions(),
    })
    /** How often each step has asked for a delivery. */
    async function steps(): Promise<readonly number[]> {
      await regulations.create({ regulation, notifications: [], nowMs })
      const counts: number[] = []
      for (let result: EraseResult = 'more'; result === 'more';) {
        asked = 0
        result = await regulations.erase({ id: 'r_1', nowMs, rowsMax })
        counts.push(asked)
      }
      return counts
    }
    return { steps, erasedIds }
  }

  function delivery(id: number, userId: string): StoredDelivery {
    const event = eventAbout(userId)
    return storedDelivery(deliveryOrigin(event, event.deliveries[0]!), id, nowMs)
  }

  test('looks at each delivery once, and at a few in a step', async () => {
    const deliveries = new Map<number, StoredDelivery>()
    for (let id = 20_000; id > 0; id--) deliveries.set(id, delivery(id, `u_${id % 5_000}`))
    const { steps, erasedIds } = regulationsOver(deliveries, 20_000)
    expect(await steps()).toEqual([...Array.from({ length: 20 }, () => rowsMax), 0])
    expect(erasedIds).toEqual([1, 5_001, 10_001, 15_001])
  })

  test('passes over what was forgotten', async () => {
    const { steps, erasedIds } = regulationsOver(
      new Map([[90_000, delivery(90_000, 'u_1')]]),
      90_001,
    )
    const counts = await steps()
    expect(counts.length).toBeLessThan(10)
    expect(erasedIds).toEqual([90_000])
  })

  test('leaves what waits in its order', async () => {
    const store = new MemoryStore()
    const users = ['u_1', 'u_2', 'u_1', 'u_3', 'u_1']
    const events = users.map((userId) => eventAbout(userId))
    await store.add({ nowMs, seenSinceMs: 0, events, handOver: [] })
    await store.regulations.create({ regulation, notifications: [], nowMs })
    expect(await store.regulations.erase({ id: 'r_1', nowMs, rowsMax })).toBe('nothing')
    expect(await store.nextDue({ destinationIds: ['crm'] })).toHaveLength(1)
    const share = { destinationId: 'crm', lane: 'first', deliveriesMax: 9, dueByMs: nowMs } as const
    const claimed = await store.claim({ nowMs, shares: [share] })
    expect(claimed.map(({ body }) => body)).toEqual([
      expect.stringContaining('u_2'),
      expect.stringContaining('u_3'),
    ])
    expect(await store.nextDue({ destinationIds: ['crm'] })).toEqual([])
    await store.close()
  })

  test('makes room for what is to be added', async () => {
    const store = new MemoryStore({ untriedMax: 2 })
    const batch = { nowMs, seenSinceMs: 0, handOver: [{ destinationId: 'crm', deliveriesMax: 1 }] }
    await store.add({ ...batch, events: [eventAbout('u_2'), eventAbout('u_1')] })
    const added = store.add({ ...batch, events: [eventAbout('u_4')] })
    await store.regulations.create({ regulation, notifications: [], nowMs })
    expect(await store.ledger()).toMatchObject({ pending: 2 })
    await store.regulations.erase({ id: 'r_1', nowMs, rowsMax })
    await added
    expect(await store.ledger()).toMatchObject({ failed: 1, pending: 2 })
    await store.close()
  })
})
