import { describe, expect, test } from 'vitest'
import { limits } from '../../src/model/index.ts'
import { accepted, clientOver, gate, ids, idsOf, record, ScriptedTransport } from './support.ts'

describe('Client batches', () => {
  test('are sent at 20 calls', async () => {
    const { client, transport, clock } = clientOver()
    record(client, 45)
    await clock.advance(0)
    expect(transport.batches.map((batch) => batch.callCount)).toEqual([20, 20])
  })

  test('are sent at flushAt calls, and are no larger while 4 are in flight', async () => {
    const answer = gate()
    const transport = new ScriptedTransport(() => answer.opened.then(() => accepted))
    const { client, clock } = clientOver(transport)
    record(client, 240)
    await clock.advance(0)
    expect(transport.batches.map((batch) => batch.callCount)).toEqual([20, 20, 20, 20])
    answer.open()
    await client.flush()
    expect(transport.batches.map((batch) => batch.callCount)).toEqual(Array(12).fill(20))
    expect(transport.batches.flatMap(idsOf)).toEqual(ids(240))
  })

  test('are sent at every call with size 1', async () => {
    const { client, transport, clock } = clientOver(undefined, { size: 1 })
    record(client, 3)
    await clock.advance(0)
    expect(transport.batches.map(idsOf)).toEqual([['m-1'], ['m-2'], ['m-3']])
  })

  test('are sent 5 seconds after the last flush, full or not', async () => {
    const { client, transport, clock } = clientOver()
    record(client, 21)
    await clock.advance(4_999)
    expect(transport.batches).toHaveLength(1)
    await clock.advance(1)
    expect(transport.batches.map((batch) => batch.callCount)).toEqual([20, 1])
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('are joined up to batchMax while they wait', async () => {
    const { client, transport } = clientOver(undefined, { batchMax: 250 })
    record(client, 4 * 20 + 12 * 20 + 45)
    await client.flush()
    const counts = transport.batches.map((batch) => batch.callCount)
    expect(counts).toEqual([20, 20, 20, 20, 240, 45])
    expect(transport.batches.flatMap(idsOf)).toEqual(ids(365))
  })

  test('are joined up to flushAt by default if they are not full', async () => {
    const { client, transport } = clientOver(undefined, { flushAt: 300 })
    record(client, 4 * 300)
    for (const count of [150, 150, 1]) {
      record(client, count)
      void client.flush()
    }
    await client.flush()
    const counts = transport.batches.map((batch) => batch.callCount)
    expect(counts).toEqual([300, 300, 300, 300, 300, 1])
  })

  test('are sent when the queue is full', async () => {
    const { client, clock, transport } = clientOver(undefined, { queueMax: 45 })
    record(client, 45)
    await clock.advance(0)
    expect(transport.batches.map((batch) => batch.callCount)).toEqual([20, 20, 5])
  })

  test('stay within the limit of bytes when they are joined', async () => {
    const { client, transport } = clientOver(undefined, { batchMax: 250 })
    const traits = { text: 'ä🎈xx'.repeat(700) }
    for (let number = 0; number < 200; number++) client.identify({ userId: 'u', traits })
    await client.flush()
    const counts = transport.batches.map((batch) => batch.callCount)
    expect(counts).toEqual([20, 20, 20, 20, 80, 40])
    const largest = Math.max(...transport.batches.map(({ body }) => Buffer.byteLength(body)))
    expect(largest).toBeLessThanOrEqual(limits.batchBytesMax)
  })

  test('hold exactly 500,000 bytes of JSON, but not one more', async () => {
    const batchesWith = async (lastText: string) => {
      const { client, transport } = clientOver(undefined, { flushAt: 2_500 })
      const text = 'ä🎈xx'.repeat(4_000)
      for (let count = 0; count < 15; count++) client.identify({ userId: 'u', traits: { text } })
      client.identify({ userId: 'u', traits: { text: lastText } })
      await client.flush()
      return transport.batches.map((batch) => Buffer.byteLength(batch.body))
    }
    const [bytes = 0] = await batchesWith('')
    const filling = 'x'.repeat(limits.batchBytesMax - bytes)
    expect(await batchesWith(filling)).toEqual([limits.batchBytesMax])
    expect(await batchesWith(`${filling}x`)).toHaveLength(2)
  })
})
