import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { EncodedCall } from '../../src/client/batch.ts'
import type { BatchRetry, Transport, TransportOutcome } from '../../src/client/index.ts'
import { Sender, type Failure } from '../../src/client/sender.ts'
import { lineLog } from '../../src/runtime/index.ts'
import {
  accepted,
  callsOf,
  encodedCall,
  gate,
  idsOf,
  manualRuntime,
  ScriptedTransport,
  startMs,
  unavailable,
} from './support.ts'

function senderOver(transport: Transport, waitingLimits = { callsMax: 2, bytesMax: 1_000 }) {
  const lines: string[] = []
  const runtime = manualRuntime({ log: lineLog((line) => lines.push(line)) })
  const delivered: string[] = []
  const failed: (Failure & { messageId: string })[] = []
  const retries: BatchRetry[] = []
  const sender = new Sender({
    writeKey: 'wk_example',
    transport,
    waitingLimits,
    runtime,
    observer: {
      delivered: ({ messageId }) => delivered.push(messageId),
      failed: ({ messageId }, failure) => failed.push({ messageId, ...failure }),
      retrying: (retry) => retries.push(retry),
    },
  })
  return { sender, clock: runtime.clock, delivered, failed, retries, lines }
}

function batchOf(...ids: string[]): readonly EncodedCall[] {
  return ids.map((id) => encodedCall(id))
}

describe('Sender', () => {
  test('delivers a batch', async () => {
    const transport = new ScriptedTransport()
    const { sender, delivered, failed } = senderOver(transport)
    sender.send(batchOf('a', 'b'))
    await sender.idle()
    expect(transport.batches).toEqual([
      {
        body: '{"batch":[{"messageId":"a"},{"messageId":"b"}],"sentAt":"2026-01-02T03:04:05.678Z","writeKey":"wk_example"}',
        callCount: 2,
      },
    ])
    expect(delivered).toEqual(['a', 'b'])
    expect(failed).toEqual([])
  })

  test('fails only the rejected calls of a batch', async () => {
    const rejected = [
      { index: 1, code: 'no_event', message: 'track needs an event' },
      { index: 9, code: 'no_such_call', message: 'there is no such call' },
      { index: 10, code: 'no_such_call', message: 'there is no such call' },
    ]
    const { sender, delivered, failed, lines } = senderOver(
      new ScriptedTransport(() => ({ kind: 'accepted', rejected })),
    )
    sender.send(batchOf('a', 'b', 'c'))
    await sender.idle()
    expect(delivered).toEqual(['a', 'c'])
    expect(failed).toEqual([
      { messageId: 'b', code: 'no_event', message: 'track needs an event', attempts: 1 },
    ])
    expect(lines.filter((line) => line.startsWith('warn'))).toEqual([
      'warn the endpoint rejected a call that is not in the batch code=no_such_call\n',
    ])
  })

  test.each([undefined, NaN, -1, 3, 0.5])(
    'identifies a rejected call by its messageId if its index is %s',
    async (index) => {
      const rejection = { index, messageId: 'c', code: 'no_event', message: 'No' }
      const { sender, delivered, failed } = senderOver(
        new ScriptedTransport(() => ({ kind: 'accepted', rejected: [rejection] })),
      )
      sender.send(batchOf('a', 'b', 'c'))
      await sender.idle()
      expect(delivered).toEqual(['a', 'b'])
      expect(failed).toEqual([{ messageId: 'c', code: 'no_event', message: 'No', attempts: 1 }])
    },
  )

  test('never resends a refused batch', async () => {
    const refused: TransportOutcome = { kind: 'refused', code: 'unknown_write_key', message: 'No' }
    const transport = new ScriptedTransport(() => refused)
    const { sender, clock, failed } = senderOver(transport)
    sender.send(batchOf('a', 'b'))
    await clock.advance(3_600_000)
    expect(transport.batches).toHaveLength(1)
    expect(failed.map(({ messageId, code }) => [messageId, code])).toEqual([
      ['a', 'unknown_write_key'],
      ['b', 'unknown_write_key'],
    ])
  })

  test('retries with growing delays, and reports the time of each retry', async () => {
    const transport = new ScriptedTransport((_, count) => (count < 4 ? unavailable : accepted))
    const { sender, clock, delivered, retries } = senderOver(transport)
    sender.send(batchOf('a', 'b'))
    await clock.advance(524)
    expect(transport.batches).toHaveLength(3)
    await clock.advance(1)
    expect(transport.batches.map(sentAfterMs)).toEqual([0, 75, 225, 525])
    expect(delivered).toEqual(['a', 'b'])
    expect(retries).toEqual([
      { callCount: 2, attempt: 1, delayMs: 75, reason: 'unavailable' },
      { callCount: 2, attempt: 2, delayMs: 150, reason: 'unavailable' },
      { callCount: 2, attempt: 3, delayMs: 300, reason: 'unavailable' },
    ])
  })

  test('waits as long as the endpoint asks', async () => {
    const transport = new ScriptedTransport((_, count) =>
      count === 1 ? { ...unavailable, afterMs: 2_000 } : accepted,
    )
    const { sender, clock } = senderOver(transport)
    sender.send(batchOf('a'))
    await clock.advance(2_000)
    expect(transport.batches.map(sentAfterMs)).toEqual([0, 2_000])
  })

  test('gives up after ten tries', async () => {
    const transport = new ScriptedTransport(() => unavailable)
    const { sender, clock, failed, retries } = senderOver(transport)
    sender.send(batchOf('a'))
    await clock.advance(3_600_000)
    await sender.idle()
    expect(transport.batches).toHaveLength(10)
    expect(retries).toHaveLength(9)
    expect(failed).toEqual([
      {
        messageId: 'a',
        code: 'retries_exhausted',
        message: 'Gave up after 10 attempts; the last one failed: unavailable',
        attempts: 10,
      },
    ])
  })

  test('halves a batch that is too large until every call is sent or alone in its batch', async () => {
    const transport = new ScriptedTransport((batch) =>
      batch.callCount > 2 || idsOf(batch).includes('d')
        ? { kind: 'too_large', reason: 'The endpoint answered 413' }
        : accepted,
    )
    const { sender, delivered, failed } = senderOver(transport)
    sender.send(batchOf('a', 'b', 'c', 'd', 'e'))
    await sender.idle()
    expect(transport.batches.map(idsOf)).toEqual([
      ['a', 'b', 'c', 'd', 'e'],
      ['a', 'b', 'c'],
      ['a', 'b'],
      ['c'],
      ['d', 'e'],
      ['d'],
      ['e'],
    ])
    expect(delivered).toEqual(['a', 'b', 'c', 'e'])
    expect(failed).toEqual([
      {
        messageId: 'd',
        code: 'event_too_large',
        message: 'The endpoint answered 413',
        attempts: 3,
      },
    ])
  })

  test.each([{}, null, { kind: 'done' }])(
    'treats %j, which is no outcome, as an internal failure',
    async (answer) => {
      const { sender, failed } = senderOver(
        new ScriptedTransport(() => answer as unknown as TransportOutcome),
      )
      sender.send(batchOf('a'))
      await sender.idle()
      expect(failed).toMatchObject([{ messageId: 'a', code: 'internal' }])
    },
  )

  test('accepts a batch without a list of rejected calls', async () => {
    const { sender, delivered } = senderOver(new ScriptedTransport(() => ({ kind: 'accepted' })))
    sender.send(batchOf('a'))
    await sender.idle()
    expect(delivered).toEqual(['a'])
  })

  test('treats an exception of the transport as an internal failure', async () => {
    const thrower: Transport = {
      send: () => {
        throw new Error('not implemented')
      },
      close: () => Promise.resolve(),
    }
    const { sender, failed } = senderOver(thrower)
    sender.send(batchOf('a'))
    await sender.idle()
    expect(failed).toEqual([
      { messageId: 'a', code: 'internal', message: 'not implemented', attempts: 1 },
    ])
  })

  test.each([
    [undefined],
    [null],
    [7],
    [{ kind: 'sent' }],
    [{ kind: 'retry' }],
    [{ kind: 'accepted', rejected: 5 }],
    [{ kind: 'accepted', rejected: [null] }],
  ])('treats %j as an internal failure of the transport', async (answer) => {
    const transport = new ScriptedTransport(() => answer as unknown as TransportOutcome)
    const { sender, failed } = senderOver(transport)
    sender.send(batchOf('a'))
    await sender.idle()
    const message = 'The transport did not return an outcome'
    expect(failed).toEqual([{ messageId: 'a', code: 'internal', message, attempts: 1 }])
  })

  test('keeps four batches in flight, including retries, while the others wait', async () => {
    const answer = gate()
    const transport = new ScriptedTransport(async (_, count) => {
      if (count === 1) return unavailable
      await answer.opened
      return accepted
    })
    const { sender, clock, delivered } = senderOver(transport)
    const inFlight = [['a', 'a'], ['b', 'b'], ['c'], ['d']]
    const waiting = [['e', 'e'], ['f', 'f'], ['g']]
    for (const ids of [...inFlight, ...waiting]) sender.send(batchOf(...ids))
    await clock.advance(10)
    expect(transport.batches.map(idsOf)).toEqual(inFlight)
    answer.open()
    await clock.advance(1_000)
    expect(transport.batches.map(idsOf)).toEqual([...inFlight, ...waiting, ['a', 'a']])
    expect(delivered.toSorted()).toEqual([...inFlight, ...waiting].flat())
  })

  test('joins waiting batches in order and within the limits', async () => {
    const answer = gate()
    const transport = new ScriptedTransport(async () => {
      await answer.opened
      return accepted
    })
    const { sender, delivered } = senderOver(transport, { callsMax: 4, bytesMax: 100 })
    const large = encodedCall('l', `{"messageId":"${'l'.repeat(70)}"}`)
    for (const id of ['a', 'b', 'c', 'd']) sender.send(batchOf(id))
    for (const ids of [['e'], ['f', 'g'], ['h', 'i'], ['j']]) sender.send(batchOf(...ids))
    sender.send([large])
    sender.send(batchOf('m'))
    answer.open()
    await sender.idle()
    expect(transport.batches.slice(0, 4).map(idsOf)).toEqual([['a'], ['b'], ['c'], ['d']])
    expect(transport.batches.slice(4).map(idsOf)).toEqual([
      ['e', 'f', 'g'],
      ['h', 'i', 'j'],
      ['l'.repeat(70)],
      ['m'],
    ])
    expect(delivered.join('')).toBe('abcdefghijlm')
  })

  test('does not change a batch that has been sent once', async () => {
    const answers = ['a', 'b', 'c', 'd'].map(() => gate())
    const transport = new ScriptedTransport(async (_, count) => {
      await answers[count - 1]?.opened
      return count === 5 ? unavailable : accepted
    })
    const { sender, clock } = senderOver(transport)
    for (const id of ['a', 'b', 'c', 'd', 'e']) sender.send(batchOf(id))
    answers[0]?.open()
    await clock.advance(10)
    sender.send(batchOf('f'))
    await clock.advance(1_000)
    answers[1]?.open()
    await clock.advance(10)
    expect(transport.batches.map(idsOf).slice(4)).toEqual([['e'], ['e'], ['f']])
  })

  test('idle() waits for batches sent before, not for later ones', async () => {
    const [first, second] = [gate(), gate()]
    const transport = new ScriptedTransport(async (_, count) => {
      await (count === 1 ? first : second).opened
      return accepted
    })
    const { sender, delivered } = senderOver(transport)
    sender.send(batchOf('a'))
    const idle = sender.idle()
    sender.send(batchOf('b'))
    first.open()
    await idle
    expect(delivered).toEqual(['a'])
    second.open()
    await sender.idle()
    expect(delivered).toEqual(['a', 'b'])
  })
})

describe('Sender.abort', () => {
  test('fails batches that wait for their turn, an answer or a retry', async () => {
    const transport = new ScriptedTransport((batch) =>
      idsOf(batch).includes('retried') ? unavailable : new Promise<never>(() => undefined),
    )
    const { sender, clock, failed } = senderOver(transport)
    for (const id of ['retried', 'b', 'c', 'd', 'waiting', 'joined']) sender.send(batchOf(id))
    await clock.advance(10)
    sender.abort()
    await sender.idle()
    const abandoned = (messageId: string, reason: string, attempts: number) => ({
      messageId,
      code: 'close_timeout',
      message: `The client was closed before this call was delivered: ${reason}`,
      attempts,
    })
    expect(failed).toHaveLength(6)
    expect(failed).toEqual(
      expect.arrayContaining([
        abandoned('retried', 'unavailable', 1),
        abandoned('b', 'no answer had arrived yet', 1),
        abandoned('waiting', 'it had not been sent yet', 0),
        abandoned('joined', 'it had not been sent yet', 0),
      ]),
    )
    expect(transport.signals[1]?.aborted).toBe(true)
    expect(transport.batches).toHaveLength(4)
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('leaves settled batches alone', async () => {
    const transport = new ScriptedTransport()
    const { sender, delivered, failed } = senderOver(transport)
    sender.send(batchOf('a'))
    await sender.idle()
    sender.abort()
    expect([delivered, failed]).toEqual([['a'], []])
  })

  test('reports the abort if the transport rejects at once, as one with fetch does', async () => {
    const { sender, failed } = senderOver({
      send: (_batch, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('aborted')))
        }),
      close: () => Promise.resolve(),
    })
    sender.send(batchOf('a'))
    await nextTurn()
    sender.abort()
    await sender.idle()
    expect(failed).toMatchObject([{ messageId: 'a', code: 'close_timeout' }])
  })
})

function sentAfterMs(batch: { body: string }): number {
  expect(callsOf(batch).length).toBeGreaterThan(0)
  return Date.parse((JSON.parse(batch.body) as { sentAt: string }).sentAt) - startMs
}
