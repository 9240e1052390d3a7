import { describe, expect, test } from 'vitest'
import type { BatchRetry } from '../../src/client/index.ts'
import { SettingError } from '../../src/model/index.ts'
import { lineLog } from '../../src/runtime/index.ts'
import {
  accepted,
  callsOf,
  clientOver,
  gate,
  ids,
  idsOf,
  record,
  ScriptedTransport,
  unavailable,
} from './support.ts'

describe('Client calls', () => {
  test('return a messageId immediately', () => {
    const { client } = clientOver()
    expect(client.track({ userId: 'user-1', event: 'E' })).toEqual({
      status: 'queued',
      messageId: 'id-1',
    })
    expect(client.identify({ userId: 'user-1', messageId: 'mine' })).toEqual({
      status: 'queued',
      messageId: 'mine',
    })
  })

  test('are refused with a reason without affecting other calls', async () => {
    const { client, transport } = clientOver()
    client.identify({ userId: 'user-1', messageId: 'before' })
    // @ts-expect-error: a call without any id compiles in JavaScript only
    expect(client.identify({})).toEqual({
      status: 'refused',
      code: 'no_user_anon_id',
      message: 'identify needs a userId or an anonymousId',
    })
    expect(client.enqueue(undefined)).toMatchObject({ status: 'refused', code: 'not_an_object' })
    client.identify({ userId: 'user-1', messageId: 'after' })
    await client.flush()
    expect(transport.batches.flatMap(idsOf)).toEqual(['before', 'after'])
    expect(await client.close()).toMatchObject({ queued: 2, delivered: 2, failed: 0, refused: 2 })
  })

  test('of each type are sent with that type; a row has its own type', async () => {
    const { client, transport } = clientOver()
    const userId = 'user-1'
    client.identify({ userId })
    client.track({ userId, event: 'E' })
    client.page({ userId, traits: { path: '/' } })
    client.screen({ userId })
    client.group({ userId, groupId: 'group-1' })
    client.alias({ userId, previousId: 'anonymous-1' })
    client.enqueue({ type: 'track', userId, event: 'From a file' })
    await client.flush()
    expect(transport.batches.flatMap(callsOf).map((call) => call['type'])).toEqual([
      'identify',
      'track',
      'page',
      'screen',
      'group',
      'alias',
      'track',
    ])
    expect(transport.batches.flatMap(callsOf)[2]).toHaveProperty('properties', { path: '/' })
  })

  test("keep the order of the specification's alias flow", async () => {
    const { client, transport } = clientOver()
    client.track({ anonymousId: 'anonymous-1', event: 'Signup Started' })
    client.alias({ previousId: 'anonymous-1', userId: 'user-1' })
    client.identify({ userId: 'user-1', traits: { plan: 'free' } })
    client.track({ userId: 'user-1', event: 'Signup Completed' })
    await client.close()
    expect(transport.batches).toHaveLength(1)
    expect(transport.batches.flatMap(callsOf)).toMatchObject([
      { type: 'track', anonymousId: 'anonymous-1', event: 'Signup Started' },
      { type: 'alias', previousId: 'anonymous-1', userId: 'user-1' },
      { type: 'identify', userId: 'user-1', traits: { plan: 'free' } },
      { type: 'track', userId: 'user-1', event: 'Signup Completed' },
    ])
  })

  test('are ignored by a disabled client', async () => {
    const { client, transport } = clientOver(undefined, { disabled: true })
    expect(client.identify({ userId: 'user-1' })).toEqual({ status: 'disabled' })
    // @ts-expect-error: a call without any id compiles in JavaScript only
    expect(client.identify({})).toEqual({ status: 'disabled' })
    expect(await client.close()).toMatchObject({ queued: 0, refused: 0 })
    expect(transport.batches).toEqual([])
  })

  test('share no objects with sent calls', async () => {
    const { client, transport } = clientOver()
    const traits = { plan: 'free' }
    client.identify({ userId: 'user-1', traits })
    traits.plan = 'changed'
    await client.flush()
    expect(transport.batches.flatMap(callsOf)).toMatchObject([{ traits: { plan: 'free' } }])
  })
})

describe('Client queue', () => {
  test('returns queue_full, sends its contents immediately, and then has room again', async () => {
    const answer = gate()
    const transport = new ScriptedTransport(async () => {
      await answer.opened
      return accepted
    })
    const { client } = clientOver(transport, { queueMax: 3 })
    await client.room()
    record(client, 3)
    expect(client.track({ userId: 'user-1', event: 'E' })).toEqual({
      status: 'refused',
      code: 'queue_full',
      message: 'The queue is full: 3 calls are waiting; await room()',
    })
    const rooms = [client.room(), client.room()]
    answer.open()
    await Promise.all(rooms)
    expect(transport.batches.map((batch) => batch.callCount)).toEqual([3])
    expect(client.track({ userId: 'user-1', event: 'E' })).toMatchObject({ status: 'queued' })
    expect(await client.close()).toMatchObject({ queued: 4, delivered: 4, refused: 1 })
  })

  test('loses nothing when the caller reads faster than the endpoint accepts', async () => {
    const { client, transport } = clientOver(undefined, { queueMax: 50 })
    for (let number = 1; number <= 1_000; number++) {
      await client.room()
      client.enqueue({ type: 'track', userId: 'u', event: 'E', messageId: `m-${number}` })
    }
    expect(await client.close()).toMatchObject({ queued: 1_000, delivered: 1_000, refused: 0 })
    expect(new Set(transport.batches.flatMap(idsOf)).size).toBe(1_000)
  })
})

describe('Client.flush', () => {
  test('waits for queued calls and calls in flight, including retries', async () => {
    const transport = new ScriptedTransport((_, count) => (count < 3 ? unavailable : accepted))
    const { client, clock } = clientOver(transport)
    record(client, 25)
    let flushed = false
    const flush = client.flush().then(() => (flushed = true))
    await clock.advance(50)
    expect(flushed).toBe(false)
    await clock.advance(1_000)
    await flush
    expect(new Set(transport.batches.flatMap(idsOf)).size).toBe(25)
    expect(await client.close()).toMatchObject({ delivered: 25 })
  })

  test('resolves immediately if nothing is queued', async () => {
    const { client, transport } = clientOver()
    await client.flush()
    expect(transport.batches).toEqual([])
  })
})

describe('Client.close', () => {
  test('delivers everything, refuses later calls, and returns the same promise when repeated', async () => {
    const { client, transport } = clientOver()
    record(client, 12)
    const closing = client.close()
    expect(client.close({ timeoutMs: 0 })).toBe(closing)
    expect(client.track({ userId: 'user-1', event: 'E' })).toEqual({
      status: 'refused',
      code: 'closed',
      message: 'The client is closed',
    })
    const report = await closing
    expect(report).toEqual({
      queued: 12,
      delivered: 12,
      failed: 0,
      refused: 1,
      undelivered: [],
      undeliveredOmitted: 0,
    })
    expect(Object.isFrozen(report)).toBe(true)
    expect(transport.closed).toBe(1)
  })

  test('sends nothing and leaves no timer if nothing was recorded', async () => {
    const { client, transport, clock } = clientOver()
    expect(await client.close()).toMatchObject({ queued: 0 })
    expect(transport.batches).toEqual([])
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('reports every call that the endpoint did not accept in time', async () => {
    const transport = new ScriptedTransport(() => unavailable)
    const { client, clock } = clientOver(transport)
    record(client, 90)
    const closing = client.close({ timeoutMs: 3_000 })
    await clock.advance(3_000)
    const report = await closing
    expect(report).toMatchObject({ queued: 90, delivered: 0, failed: 90, undeliveredOmitted: 0 })
    expect(report.undelivered.map((call) => call.messageId).toSorted()).toEqual(ids(90).toSorted())
    expect(report.undelivered[0]).toMatchObject({
      status: 'failed',
      messageId: 'm-1',
      type: 'track',
      code: 'close_timeout',
      message: 'The client was closed before this call was delivered: unavailable',
    })
    expect(JSON.parse(report.undelivered[0]!.json)).toMatchObject({ type: 'track', event: 'E' })
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('does not wait for a transport that neither answers nor closes', async () => {
    const transport = new ScriptedTransport(() => new Promise(() => undefined))
    transport.close = () => new Promise(() => undefined)
    const { client, clock } = clientOver(transport)
    record(client, 1)
    const closing = client.close()
    await clock.advance(30_000)
    expect(await closing).toMatchObject({ failed: 1 })
  })

  test('returns its report even if the transport fails to close', async () => {
    const transport = new ScriptedTransport()
    transport.close = () => Promise.reject(new Error('already gone'))
    const lines: string[] = []
    const log = lineLog((line) => lines.push(line))
    const { client } = clientOver(transport, { runtime: { log } })
    expect(await client.close()).toMatchObject({ queued: 0 })
    expect(lines).toEqual(['warn the transport did not close error="already gone"\n'])
  })

  test('refuses an invalid time and an unknown option, and can be called again', async () => {
    const { client } = clientOver()
    expect(() => client.close({ timeoutMs: -1 })).toThrow(SettingError)
    const namedAsSegmentDoes = { timeout: 5_000 } as object
    expect(() => client.close(namedAsSegmentDoes)).toThrow('Cannot use the option timeout')
    expect(client.identify({ userId: 'user-1' })).toMatchObject({ status: 'queued' })
    expect(await client.close()).toMatchObject({ delivered: 1 })
  })

  test('lists the newest earlier failures, up to queueMax, and all later ones', async () => {
    const ids = { previousId: 'user-0', userId: 'user-1' }
    let answer = gate()
    const transport = new ScriptedTransport(async () => {
      await answer.opened
      return { kind: 'refused', code: 'http_404', message: 'Gone' }
    })
    const { client } = clientOver(transport, { queueMax: 2 })
    const recordRound = (round: number) =>
      ['a', 'b'].map((call) => client.alias({ ...ids, messageId: `${call}-${round}` }))
    answer.open()
    for (let round = 1; round <= 3; round++) {
      recordRound(round)
      await client.flush()
    }
    answer = gate()
    recordRound(4)
    const closing = client.close()
    answer.open()
    const report = await closing
    expect(report).toMatchObject({ queued: 8, failed: 8, undeliveredOmitted: 4 })
    const listed = report.undelivered.map(({ messageId }) => messageId)
    expect(listed).toEqual(['a-3', 'b-3', 'a-4', 'b-4'])
  })
})

describe('Client events', () => {
  test('report the outcome of every call once, and every wait', async () => {
    const rejected = [{ index: 1, code: 'no_event', message: 'track needs an event' }]
    const transport = new ScriptedTransport((_, count) =>
      count === 1 ? unavailable : { kind: 'accepted', rejected },
    )
    const { client, clock } = clientOver(transport)
    const emitted: unknown[] = []
    const retries: BatchRetry[] = []
    const listener = (): void => void emitted.push('removed')
    client
      .on('delivered', listener)
      .off('delivered', listener)
      .on('delivered', (call) => emitted.push(call))
      .on('failed', (call) => emitted.push(call))
      .on('retry', (retry) => retries.push(retry))
    record(client, 2)
    const flush = client.flush()
    await clock.advance(1_000)
    await flush
    expect(emitted).toEqual([
      { status: 'delivered', messageId: 'm-1', type: 'track' },
      {
        status: 'failed',
        messageId: 'm-2',
        type: 'track',
        code: 'no_event',
        json: expect.stringContaining('"messageId":"m-2"') as unknown,
        message: 'track needs an event',
        attempts: 2,
      },
    ])
    expect(retries).toEqual([{ callCount: 2, attempt: 1, delayMs: 75, reason: 'unavailable' }])
  })

  test('continue when a listener throws', async () => {
    const { client } = clientOver()
    client.on('delivered', () => {
      throw new Error('out of order')
    })
    record(client, 3)
    expect(await client.close()).toMatchObject({ queued: 3, delivered: 3 })
  })

  test('let a listener record further calls', async () => {
    const { client, transport } = clientOver()
    client.on('failed', ({ json }) => client.enqueue(JSON.parse(json)))
    client.on('delivered', ({ messageId }) => {
      if (messageId === 'm-1') client.track({ userId: 'u', event: 'E', messageId: 'm-2' })
    })
    record(client, 1)
    await client.flush()
    await client.flush()
    expect(transport.batches.flatMap(idsOf)).toEqual(['m-1', 'm-2'])
  })
})

describe('Client log', () => {
  test('contains neither payloads nor the write key', async () => {
    const lines: string[] = []
    const transport = new ScriptedTransport((_, count) =>
      count === 1
        ? { kind: 'retry', reason: 'The endpoint answered 503: wk_example is busy' }
        : { kind: 'refused', code: 'unknown_write_key', message: 'wk_example is unknown' },
    )
    const log = lineLog((line) => lines.push(line))
    const { client, clock } = clientOver(transport, { runtime: { log } })
    client.identify({ userId: 'user-1', traits: { email: 'jane@example.com' } })
    // @ts-expect-error: a call without any id compiles in JavaScript only
    client.identify({})
    const flush = client.flush()
    await clock.advance(1_000)
    await flush
    expect(lines.join('')).toMatchInlineSnapshot(`
      "debug queued type=identify messageId=id-1
      debug refused code=no_user_anon_id
      debug sending a batch calls=1 bytes=264
      debug retrying a batch callCount=1 attempt=1 delayMs=75 reason="The endpoint answered 503: *** is busy"
      debug sending a batch calls=1 bytes=264
      debug failed type=identify messageId=id-1 code=unknown_write_key
      "
    `)
    expect(lines.join('')).not.toMatch(/wk_example|jane|user-1/)
  })
})
