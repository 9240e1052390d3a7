import { describe, expect, onTestFinished, test } from 'vitest'
import { Intake, type IntakeOutcome, type IntakeResult } from '../../src/intake/index.ts'
import type { NewEvent } from '../../src/delivery/index.ts'
import type { Destination } from '../../src/model/index.ts'
import { MemoryStore } from '../support/memory-store.ts'
import { countSurvivors } from '../support/collect-garbage.ts'
import { gate } from '../support/gate.ts'
import { crm, nested, now, nowMs, frozenClockRuntime } from './support.ts'

const track = { type: 'track', userId: 'user-1', event: 'Order Completed' }

function startIntake(destinations: readonly Destination[] = [crm]) {
  const store = new MemoryStore()
  onTestFinished(() => store.close())
  const { runtime, logged } = frozenClockRuntime()
  const added: (readonly NewEvent[])[] = []
  const intake = new Intake({
    add: async (events) => {
      added.push(events)
      const batch = { nowMs, seenSinceMs: 0, events, handOver: [] }
      return (await store.add(batch)).outcomes
    },
    destinations,
    runtime,
  })
  return {
    intake,
    store,
    logged,
    /** The batches that intake passed on to be stored. */
    added,
    accept: async (...calls: unknown[]) => {
      const results = await intake.accept({ sourceId: 'website', calls })
      return results.map(inShort)
    },
    bodies: async (destinationId = 'crm'): Promise<readonly unknown[]> => {
      const shares = [{ destinationId, lane: 'first' as const, dueByMs: nowMs, deliveriesMax: 100 }]
      const deliveries = await store.claim({ nowMs, shares })
      return deliveries.map(({ body }) => JSON.parse(body) as unknown)
    },
  }
}

/** A result without the plan of its event. */
function inShort(result: IntakeResult) {
  if (result.kind === 'rejected') return result
  const { kind, event, outcome } = result
  return { kind, messageId: event.messageId, outcome }
}

describe('accept', () => {
  test('stores the exact webhook of an accepted call, due at once', async () => {
    const { accept, bodies } = startIntake()
    expect(await accept({ ...track, messageId: 'm-1', properties: { total: 9.5 } })).toEqual([
      { kind: 'accepted', messageId: 'm-1', outcome: 'routed' },
    ])
    expect(await bodies()).toEqual([
      {
        version: 1,
        ...track,
        properties: { total: 9.5 },
        context: {},
        timestamp: now,
        messageId: 'm-1',
      },
    ])
  })

  test('reports the outcome of each call, in order, and updates the ledger', async () => {
    const { accept, store, bodies } = startIntake()
    const results = await accept(
      'text',
      { ...track, messageId: 'm-1' },
      { ...track, event: undefined },
      { ...track, messageId: 'm-2', integrations: { All: false } },
      { ...track, messageId: 'm-1', event: 'Again' },
      { type: 'delete', userId: 'user-1' },
      track,
    )
    expect(results).toEqual([
      {
        kind: 'rejected',
        index: 0,
        code: 'not_an_object',
        message: 'A call must be a JSON object',
      },
      { kind: 'accepted', messageId: 'm-1', outcome: 'routed' },
      { kind: 'rejected', index: 2, code: 'no_event', message: 'track needs an event' },
      { kind: 'accepted', messageId: 'm-2', outcome: 'filtered' },
      { kind: 'accepted', messageId: 'm-1', outcome: 'duplicate' },
      expect.objectContaining({ kind: 'rejected', index: 5, code: 'unknown_type' }),
      { kind: 'accepted', messageId: 'id-1', outcome: 'routed' },
    ])
    expect(await store.ledger()).toMatchObject({
      accepted: 4,
      routed: 2,
      filtered: 1,
      duplicate: 1,
      deliveries: 2,
    })
    expect(await bodies()).toMatchObject([{ messageId: 'm-1', event: track.event }, track])
  })

  test('checks the calls that are not marked as checked, and keeps their indexes', async () => {
    const { intake } = startIntake()
    const calls = [{ type: 'track', userId: 'user-1' }, { ...track, event: '' }, track]
    const results = await intake.accept({
      sourceId: 'website',
      calls,
      checkedTypes: ['track', undefined, 'track'],
    })
    expect(results).toMatchObject([
      { kind: 'accepted', index: 0 },
      { kind: 'rejected', index: 1, code: 'no_event' },
      { kind: 'accepted', index: 2, outcome: 'routed' },
    ])
  })

  test('detects a duplicate only in an earlier batch of the same source', async () => {
    const { intake, accept } = startIntake([{ ...crm, sourceIds: ['website', 'app'] }])
    const call = { ...track, messageId: 'm-1' }
    await accept(call)
    expect(await accept(call)).toMatchObject([{ outcome: 'duplicate' }])
    expect(await intake.accept({ sourceId: 'app', calls: [call] })).toMatchObject([
      { outcome: 'routed' },
    ])
  })

  test('makes a delivery for each destination that gets the call', async () => {
    const { accept, store, bodies } = startIntake([crm, { ...crm, id: 'warehouse' }])
    await accept(track)
    expect(await store.ledger()).toMatchObject({ routed: 1, deliveries: 2 })
    expect(await bodies('crm')).toEqual(await bodies('warehouse'))
  })

  test('corrects timestamps by sentAt, if present', async () => {
    const { intake, bodies } = startIntake()
    const call = { ...track, timestamp: '2026-01-02T02:00:00Z' }
    const hourBehind = { ...call, sentAt: '2026-01-02T02:04:05.678Z' }
    const batch = { sourceId: 'website', calls: [call] }
    await intake.accept({ ...batch, sentAt: '2026-01-02T02:00:10Z' })
    await intake.accept({ ...batch, calls: [hourBehind], sentAt: null })
    await intake.accept({ ...batch, calls: [hourBehind], sentAt: 'soon' })
    await intake.accept({ ...batch, calls: [hourBehind] })
    expect(await bodies()).toMatchObject([
      { timestamp: '2026-01-02T03:03:55.678Z' },
      { timestamp: '2026-01-02T03:00:00.000Z' },
      { timestamp: '2026-01-02T03:00:00.000Z' },
      { timestamp: '2026-01-02T02:00:00.000Z' },
    ])
  })

  test('warns about an unreadable timestamp, and uses the time of arrival', async () => {
    const { accept, bodies, logged } = startIntake()
    await accept({ ...track, messageId: 'm-1', timestamp: 'hello 5' }, track)
    expect(logged).toEqual([
      'warn cannot read a timestamp: using the time of arrival instead messageId=m-1 sourceId=website\n',
    ])
    expect(await bodies()).toMatchObject([{ timestamp: now }, { timestamp: now }])
  })

  test('summarises many unreadable timestamps, and shortens ids', async () => {
    const { accept, logged } = startIntake()
    const first = { ...track, messageId: 'm'.repeat(512), timestamp: 'x' }
    const others = Array.from({ length: 99 }, () => ({ ...track, timestamp: 'x' }))
    await accept(first, ...others)
    expect(logged).toEqual([
      'warn cannot read a timestamp: using the time of arrival instead ' +
        `messageId=${'m'.repeat(100)} others=99 sourceId=website\n`,
    ])
    await accept({ ...track, messageId: 'n'.repeat(512), traits: { id: 2 ** 60 } })
    expect(logged[1]?.length).toBeLessThan(250)
  })

  test.each([
    ['in a property', { properties: { orderId: 9_007_199_254_740_993n } }],
    ['in a trait', { traits: { id: 12_345_678_901_234_567_890n } }],
    [
      'in a call that no destination gets',
      { traits: { id: 2n ** 53n }, integrations: { All: false } },
    ],
  ])('warns once about an integer above 2^53: %s', async (_name, fields) => {
    const { accept, logged } = startIntake()
    const text = JSON.stringify(
      { ...track, messageId: 'm-1', ...fields },
      (_key, value: unknown) => (typeof value === 'bigint' ? `#${value}` : value),
    ).replace(/"#(\d+)"/, '$1')
    await accept(track)
    await accept(JSON.parse(text), JSON.parse(text))
    await accept(JSON.parse(text))
    expect(logged).toEqual([
      'warn an integer above 2^53 was rounded; send such ids as strings (logged once) messageId=m-1 sourceId=website\n',
    ])
  })

  test('does not warn about digits in a string', async () => {
    const { accept, logged } = startIntake()
    await accept({ ...track, userId: '12345678901234567890', properties: { total: 0.1 + 0.2 } })
    expect(logged).toEqual([])
  })

  test('rejects a call that is nested too deeply, and accepts the others', async () => {
    const { accept, bodies } = startIntake()
    const deep = { ...track, properties: { a: nested(10_000) } }
    const results = await accept(track, deep, { ...track, traits: nested(10_000) }, track)
    expect(results).toMatchObject([
      { kind: 'accepted' },
      { kind: 'rejected', index: 1, code: 'wrong_type' },
      { kind: 'rejected', index: 2, code: 'wrong_type' },
      { kind: 'accepted' },
    ])
    expect(await bodies()).toHaveLength(2)
  })

  test('passes a batch on immediately, with the event fields for the delivery log', async () => {
    const { accept, added } = startIntake()
    await accept(track, { ...track, userId: undefined, anonymousId: 'anon-1' })
    expect(added).toMatchObject([
      [
        { sourceId: 'website', messageId: 'id-1', type: 'track', userId: 'user-1' },
        { sourceId: 'website', messageId: 'id-2', type: 'track', userId: null },
      ],
    ])
  })

  test('stores nothing of a batch without a valid call', async () => {
    const { accept, added, store } = startIntake()
    expect(await accept()).toEqual([])
    expect(await accept('text')).toMatchObject([{ kind: 'rejected' }])
    expect(added).toEqual([])
    expect(await store.ledger()).toMatchObject({ accepted: 0 })
  })

  test('acknowledges nothing that is not stored', async () => {
    const { accept, store } = startIntake()
    await store.close()
    await expect(accept(track)).rejects.toMatchObject({ code: 'store_closed' })
  })
})

describe('take', () => {
  test('reports the outcome of each call, without its event', async () => {
    const { intake, store } = startIntake()
    const call = { ...track, messageId: 'm-1' }
    const filtered = { ...track, integrations: { All: false } }
    const calls = [call, 7, filtered, call]
    expect(await intake.take({ sourceId: 'website', calls })).toEqual([
      { kind: 'accepted', index: 0, outcome: 'routed' },
      {
        kind: 'rejected',
        index: 1,
        code: 'not_an_object',
        message: 'A call must be a JSON object',
      },
      { kind: 'accepted', index: 2, outcome: 'filtered' },
      { kind: 'accepted', index: 3, outcome: 'duplicate' },
    ])
    expect(await store.ledger()).toMatchObject({ accepted: 3, routed: 1, deliveries: 1 })
  })

  test('releases a batch while it is being stored', async () => {
    const stored = gate()
    const events: WeakRef<object>[] = []
    const intake = new Intake({
      // Not async: a suspended function would keep the events alive.
      add: ([event]) => {
        events.push(new WeakRef(event ?? {}))
        return stored.opened.then(() => ['routed'])
      },
      destinations: [crm],
      runtime: frozenClockRuntime().runtime,
    })
    const takeOne = (): readonly [WeakRef<object>, Promise<readonly IntakeOutcome[]>] => {
      const calls = [{ ...track, messageId: 'm-1', properties: { total: 9.5 } }]
      return [new WeakRef(calls[0]?.properties ?? {}), intake.take({ sourceId: 'website', calls })]
    }
    const [properties, taking] = takeOne()
    expect(events).toHaveLength(1)
    expect(await countSurvivors([properties, ...events])).toBe(0)
    stored.open()
    expect(await taking).toEqual([{ kind: 'accepted', index: 0, outcome: 'routed' }])
  })

  test('rejects if a call cannot be read', async () => {
    const { intake } = startIntake()
    const call = {
      get type(): string {
        throw new Error('It is read')
      },
    }
    await expect(intake.take({ sourceId: 'website', calls: [call] })).rejects.toThrow('It is read')
  })

  test('acknowledges nothing that is not stored', async () => {
    const { intake, store } = startIntake()
    await store.close()
    await expect(intake.take({ sourceId: 'website', calls: [track] })).rejects.toMatchObject({
      code: 'store_closed',
    })
  })
})

describe('acceptDeletion', () => {
  test('notifies every destination of the source, with the three fields of the notice', async () => {
    const other = { ...crm, id: 'other', sourceIds: ['app'] }
    const off = { ...crm, id: 'off', enabled: false }
    const recent = { ...crm, id: 'recent', acceptsHistorical: false }
    const { intake, store, bodies } = startIntake([crm, other, off, recent])
    const request = { userId: 'user-1', timestamp: '2012-12-02T00:30:08.276Z' }
    await intake.acceptDeletion(request, 'website')
    const notice = { type: 'delete', ...request }
    expect(await bodies('crm')).toEqual([notice])
    expect(await bodies('recent')).toEqual([notice])
    expect(await store.ledger()).toMatchObject({ accepted: 1, routed: 1, deliveries: 2 })
  })

  test('recognises a repeated request by its messageId', async () => {
    const { intake, bodies } = startIntake()
    const request = { userId: 'user-1', messageId: 'd-1' }
    await intake.acceptDeletion(request, 'website')
    const again = await intake.acceptDeletion(request, 'website')
    expect(again).toMatchObject([{ outcome: 'duplicate' }])
    expect(await bodies()).toHaveLength(1)
  })
})
