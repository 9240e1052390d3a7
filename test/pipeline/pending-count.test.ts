import { describe, expect, test } from 'vitest'
import type { AddOutcome, NewEvent } from '../../src/delivery/index.ts'
import { emptyLedger } from '../../src/model/index.ts'
import { PendingCount } from '../../src/pipeline/index.ts'
import { countSurvivors } from '../support/collect-garbage.ts'
import { gate } from '../support/gate.ts'

function event(deliveries: number, body = '{}'): NewEvent {
  return {
    sourceId: 'website',
    messageId: 'm_1',
    type: 'track',
    userId: 'u_1',
    deliveries: Array.from({ length: deliveries }, () => ({ destinationId: 'crm', body })),
  }
}

const answering = (outcomes: readonly AddOutcome[]) => () => Promise.resolve(outcomes)

function storeWith(pending: number) {
  return { ledger: () => Promise.resolve({ ...emptyLedger, pending }) }
}

describe('what waits', () => {
  test('is counted from the moment on that it is to be added', async () => {
    const { opened, open } = gate()
    const count = new PendingCount()
    const added = count.add([event(2), event(1)], async () => {
      await opened
      return ['routed', 'duplicate']
    })
    expect(count.deliveries).toBe(3)
    expect(count.isFull(3)).toBe(true)
    expect(count.isFull(4)).toBe(false)
    open()
    expect(await added).toEqual(['routed', 'duplicate'])
    expect(count.deliveries).toBe(2)
    count.ended()
    expect(count.deliveries).toBe(1)
  })

  test('is counted without being held', async () => {
    const { opened, open } = gate()
    const count = new PendingCount()
    const addOne = (): readonly [WeakRef<NewEvent>, Promise<readonly AddOutcome[]>] => {
      const added = event(2)
      return [new WeakRef(added), count.add([added], () => opened.then(() => ['routed']))]
    }
    const [added, adding] = addOne()
    expect(await countSurvivors([added])).toBe(0)
    open()
    expect(await adding).toEqual(['routed'])
    expect(count.deliveries).toBe(2)
  })

  test('is not what the store did not take', async () => {
    const count = new PendingCount()
    const refused = count.add([event(2)], () => Promise.reject(new Error('full')))
    await expect(refused).rejects.toThrow('full')
    expect(count.deliveries).toBe(0)
  })

  test('is what the store says, and what was added while it was asked', async () => {
    const { opened, open } = gate()
    const count = new PendingCount()
    await count.add([event(5)], answering(['routed']))
    const looking = count.look({
      ledger: async () => {
        await opened
        return { ...emptyLedger, pending: 7 }
      },
    })
    await count.add([event(1)], answering(['routed']))
    open()
    await looking
    expect(count.deliveries).toBe(8)
    count.ended()
    await count.look(storeWith(7))
    expect(count.deliveries).toBe(7)
  })

  test('is too much where the store is megabytes behind, however few they are', async () => {
    const { opened, open } = gate()
    const count = new PendingCount()
    const body = 'x'.repeat(8 * 1024 * 1024)
    const add = async (): Promise<readonly AddOutcome[]> => {
      await opened
      return ['routed']
    }
    const first = count.add([event(1, body)], add)
    expect(count.isFull(1_000)).toBe(false)
    const second = count.add([event(1, body)], add)
    expect(count.isFull(1_000)).toBe(true)
    open()
    await Promise.all([first, second])
    expect(count.isFull(1_000)).toBe(false)
  })
})
