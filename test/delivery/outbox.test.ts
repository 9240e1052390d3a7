import { describe, expect, test } from 'vitest'
import type { Settlement, SettleRequest } from '../../src/delivery/index.ts'
import { Outbox } from '../../src/delivery/outbox.ts'
import type { RequestRecord } from '../../src/model/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { gate, type Gate } from '../support/gate.ts'
import { startMs } from '../support/recording-runtime.ts'
import { quiet } from './dispatching.ts'
import { leased, urlOf } from './samples.ts'

const delivered = (id: number): Settlement => ({
  kind: 'delivered',
  delivery: leased({ id }),
  attempts: 1,
})

const requestOf = (deliveryId: number): RequestRecord => ({
  destinationId: 'crm',
  deliveryId,
  messageId: 'm_1',
  url: urlOf('a'),
  lane: 'first',
  attempt: 1,
  atMs: startMs,
  outcome: 'success',
  status: 200,
  error: null,
  durationMs: 1,
  excerpt: '',
})

/** Creates an outbox, with a function that writes its batches. Records batches and events. */
function outboxOf(write: (batch: SettleRequest) => Promise<void>) {
  const batches: SettleRequest[] = []
  const reported: string[] = []
  const clock = new ManualClock(startMs)
  let holds = 0
  const outbox = new Outbox({
    store: {
      settle: (batch) => {
        batches.push(batch)
        return write(batch).then(() => batch.settlements)
      },
    },
    clock: {
      nowMs: () => clock.nowMs(),
      schedule: (delayMs, task) => clock.schedule(delayMs, task),
      hold: () => {
        holds++
        return () => holds--
      },
    },
    settled: ({ delivery }) => reported.push(`settled ${delivery.id}`),
    drained: () => reported.push(`drained, ${outbox.isEmpty ? 'empty' : 'not empty'}`),
    failed: (error) => reported.push(`failed: ${String(error)}`),
  })
  return { outbox, batches, reported, clock, held: () => holds }
}

const ids = ({ settlements }: SettleRequest): readonly number[] =>
  settlements.map(({ delivery }) => delivery.id)

describe('a batch', () => {
  test('holds all settlements and requests of one turn of the event loop', async () => {
    const { outbox, batches, reported } = outboxOf(() => Promise.resolve())
    expect(outbox.isEmpty).toBe(true)
    outbox.log(requestOf(1))
    outbox.settle(delivered(1))
    await Promise.resolve()
    outbox.log(requestOf(2))
    outbox.settle(delivered(2))
    expect(outbox.isEmpty).toBe(false)
    expect(outbox.unwritten).toBe(2)
    await quiet()
    const settlements = [delivered(1), delivered(2)]
    expect(batches).toEqual([
      { nowMs: startMs, settlements, requests: [requestOf(1), requestOf(2)] },
    ])
    expect(reported).toEqual(['settled 1', 'settled 2', 'drained, empty'])
    expect(outbox.unwritten).toBe(0)
  })

  test('holds everything that arrived while the previous batch was being written, and has its own time', async () => {
    const { opened, open } = gate()
    const { outbox, batches, reported, clock } = outboxOf(() => opened)
    outbox.settle(delivered(1))
    await quiet()
    for (const id of [2, 3, 4]) outbox.settle(delivered(id))
    await clock.advance(5)
    expect(batches.map(ids)).toEqual([[1]])
    expect(reported).toEqual([])
    expect(outbox.unwritten).toBe(4)
    open()
    await quiet()
    expect(batches.map(ids)).toEqual([[1], [2, 3, 4]])
    expect(batches.map(({ nowMs }) => nowMs - startMs)).toEqual([0, 5])
    expect(reported.at(-1)).toBe('drained, empty')
  })

  test('can consist of requests alone', async () => {
    const { outbox, batches } = outboxOf(() => Promise.resolve())
    outbox.log(requestOf(1))
    expect(outbox.unwritten).toBe(0)
    expect(outbox.isEmpty).toBe(false)
    await quiet()
    expect(batches).toMatchObject([{ settlements: [], requests: [requestOf(1)] }])
  })

  test('holds the clock until it is written', async () => {
    const { opened, open } = gate()
    const { outbox, held } = outboxOf(() => opened)
    outbox.settle(delivered(1))
    expect(held()).toBe(1)
    await quiet()
    expect(held()).toBe(1)
    open()
    await quiet()
    expect(held()).toBe(0)
  })
})

describe('written', () => {
  test('resolves at once if nothing waits', async () => {
    await outboxOf(() => Promise.resolve()).outbox.written()
  })

  test('resolves once all earlier entries are written, even if more keep coming', async () => {
    const gates: Gate[] = []
    const { outbox, batches } = outboxOf(() => {
      const next = gate()
      gates.push(next)
      return next.opened
    })
    outbox.settle(delivered(1))
    await quiet()
    outbox.settle(delivered(2))
    let written = false
    void outbox.written().then(() => {
      written = true
    })
    outbox.settle(delivered(3))
    gates[0]?.open()
    await quiet()
    // The batch that `written` waits for has begun. The next one is filled meanwhile.
    expect(batches.map(ids)).toEqual([[1], [2, 3]])
    expect(written).toBe(false)
    outbox.settle(delivered(4))
    gates[1]?.open()
    await quiet()
    expect(written).toBe(true)
    expect(batches.map(ids)).toEqual([[1], [2, 3], [4]])
  })

  test('resolves for every caller', async () => {
    const { opened, open } = gate()
    const { outbox } = outboxOf(() => opened)
    outbox.settle(delivered(1))
    const both = Promise.all([outbox.written(), outbox.written()])
    await quiet()
    const third = outbox.written()
    open()
    await Promise.all([both, third])
    expect(outbox.unwritten).toBe(0)
  })
})

describe('a store that cannot be written', () => {
  test('is reported once, is not written again, and blocks no caller', async () => {
    const { opened, open } = gate()
    const { outbox, batches, reported, held } = outboxOf(async () => {
      await opened
      throw new Error('disk full')
    })
    outbox.settle(delivered(1))
    await quiet()
    outbox.settle(delivered(2))
    const before = outbox.written()
    open()
    await before
    expect(reported).toEqual(['failed: Error: disk full', 'drained, empty'])
    outbox.settle(delivered(3))
    outbox.log(requestOf(3))
    await outbox.written()
    await quiet()
    expect(batches.map(ids)).toEqual([[1]])
    expect(reported).toHaveLength(2)
    expect(outbox.unwritten).toBe(3)
    expect(held()).toBe(0)
  })
})
