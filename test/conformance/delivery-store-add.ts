import { describe, expect, test } from 'vitest'
import type { NewEvent, Room } from '../../src/delivery/index.ts'
import { emptyLedger } from '../../src/model/index.ts'
import {
  delivered,
  event,
  events,
  messageIds,
  nowMs,
  returned,
  type StoreUnderTest,
} from './store-under-test.ts'

/** Tests of `add`. */
export function addSuite(tested: StoreUnderTest): void {
  describe('add', () => {
    stores(tested)
    deduplicates(tested)
    handsOver(tested)
    limitsBacklogs(tested)
  })
}

/** Makes the events `m_<first>` to `m_<last>` with a `backlogMax` for each delivery. */
function bounded(
  backlogMax: number,
  [first, last]: readonly [number, number],
  ...destinationIds: readonly string[]
): readonly NewEvent[] {
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const added = event(`m_${first + index}`, ...destinationIds)
    const deliveries = added.deliveries.map((delivery) => ({ ...delivery, backlogMax }))
    return { ...added, deliveries }
  })
}

function limitsBacklogs(tested: StoreUnderTest): void {
  test('fails only deliveries beyond the backlog of their destination', async () => {
    const first = await tested.add(bounded(3, [1, 2], 'crm', 'mail'))
    expect(first.refused).toEqual([])
    const [sent] = await tested.claim('mail', { deliveriesMax: 1 })
    await tested.settle(delivered(sent!))
    const { outcomes, refused } = await tested.add(bounded(3, [3, 5], 'crm', 'mail'))
    expect(outcomes).toEqual(['routed', 'routed', 'routed'])
    expect(refused.toSorted((a, b) => a.deliveries - b.deliveries)).toEqual([
      { destinationId: 'mail', reason: 'backlog_full', deliveries: 1 },
      { destinationId: 'crm', reason: 'backlog_full', deliveries: 2 },
    ])
    expect(messageIds(await tested.list({ destinationId: 'crm', states: ['failed'] }))).toEqual([
      'm_5',
      'm_4',
    ])
    const [failed] = await tested.list({ destinationId: 'mail', states: ['failed'] })
    expect(failed).toMatchObject({
      ...{ messageId: 'm_5', reason: 'backlog_full', attempts: 0, settledAtMs: nowMs },
      ...{ dueAtMs: null, lane: 'first' },
    })
    const ledger = { deliveries: 10, pending: 6, failed: 3, delivered: 1 }
    expect(await tested.store.ledger()).toMatchObject(ledger)
    expect(messageIds(await tested.claim('crm'))).toEqual(['m_1', 'm_2', 'm_3'])
  })

  test('hands over nothing beyond a backlog, and counts deliveries in flight', async () => {
    const handOver = [{ destinationId: 'crm', deliveriesMax: 10 }]
    const { leased } = await tested.add(bounded(2, [1, 3], 'crm'), { handOver })
    expect(messageIds(leased)).toEqual(['m_1', 'm_2'])
    expect((await tested.add(bounded(2, [4, 4], 'crm'), { handOver })).leased).toEqual([])
    await tested.settle(...leased.map(delivered))
    const later = await tested.add(bounded(2, [5, 5], 'crm'), { handOver })
    expect(messageIds(later.leased)).toEqual(['m_5'])
    expect(later.refused).toEqual([])
  })

  test('lets deliveries beyond a backlog be retried manually', async () => {
    await tested.add(bounded(1, [1, 2], 'crm'))
    expect(await tested.retry({ messageId: 'm_2' })).toBe(1)
    const delivery = await tested.claimOne('crm', { lane: 'manual' })
    expect(delivery.body).toBe('{"to":"crm","messageId":"m_2"}')
  })

  test('does not count duplicates against a backlog, and accepts deliveries without a limit', async () => {
    await tested.add(bounded(2, [1, 1], 'crm'))
    const again = await tested.add([...bounded(2, [1, 1], 'crm'), ...bounded(2, [2, 2], 'crm')])
    expect(again.outcomes).toEqual(['duplicate', 'routed'])
    expect(again.refused).toEqual([])
    expect((await tested.add([event('m_3', 'crm')])).refused).toEqual([])
    expect(await tested.store.ledger()).toMatchObject({ pending: 3, failed: 0 })
  })
}

function stores(tested: StoreUnderTest): void {
  test('reports the outcome of each event, in order', async () => {
    const batch = [event('m_1', 'crm'), event('m_2'), event('m_1', 'crm'), event('m_3', 'crm')]
    expect(await tested.outcomes(batch)).toEqual(['routed', 'filtered', 'duplicate', 'routed'])
  })

  test('stores one delivery per destination', async () => {
    await tested.add([event('m_1', 'crm', 'mail')])
    expect(await tested.claimOne('crm')).toMatchObject({ body: '{"to":"crm","messageId":"m_1"}' })
    expect(await tested.claimOne('mail')).toMatchObject({ body: '{"to":"mail","messageId":"m_1"}' })
  })

  test('accepts an empty batch', async () => {
    const handOver = [{ destinationId: 'crm', deliveriesMax: 1 }]
    expect(await tested.add([], { handOver })).toEqual({ outcomes: [], leased: [], refused: [] })
    expect(await tested.store.ledger()).toEqual(emptyLedger)
  })

  test('gives later deliveries greater ids', async () => {
    await tested.add(events(2, 'crm'))
    await tested.add([event('m_3', 'crm')], { atMs: nowMs - 1 })
    const deliveries = await tested.claim('crm')
    const ids = deliveries
      .toSorted((a, b) => (a.messageId < b.messageId ? -1 : 1))
      .map(({ id }) => id)
    expect(ids).toEqual(ids.toSorted((a, b) => a - b))
    expect(new Set(ids).size).toBe(3)
  })

  test('stores nothing if one event of the batch cannot be read', async () => {
    const unreadable: NewEvent = {
      ...event('m_2'),
      get deliveries(): never {
        throw new Error('cannot be read')
      },
    }
    const handOver = [{ destinationId: 'crm', deliveriesMax: 1 }]
    const batch = [event('m_1', 'crm'), unreadable, event('m_3')]
    await expect(tested.add(batch, { handOver })).rejects.toThrow()
    expect(await tested.store.ledger()).toEqual(emptyLedger)
    expect(await tested.claim('crm')).toEqual([])
    expect(await tested.list()).toEqual([])
    expect(await tested.outcomes([event('m_1', 'crm'), event('m_3')])).toEqual([
      'routed',
      'filtered',
    ])
    expect(messageIds(await tested.claim('crm'))).toEqual(['m_1'])
  })

  test('accepts concurrent batches', async () => {
    const batches = Array.from({ length: 20 }, (_, index) => [
      event('shared', 'crm'),
      event(`m_${index}`, 'crm', 'mail'),
    ])
    const outcomes = await Promise.all(batches.map((batch) => tested.outcomes(batch)))
    expect(outcomes.map(([, own]) => own)).toEqual(batches.map(() => 'routed'))
    const ofShared = outcomes.map(([shared]) => shared)
    expect(ofShared.filter((outcome) => outcome === 'routed')).toHaveLength(1)
    expect(ofShared.filter((outcome) => outcome === 'duplicate')).toHaveLength(19)
    expect(await tested.claim('crm')).toHaveLength(21)
  })
}

function deduplicates(tested: StoreUnderTest): void {
  test('recognises a duplicate by its source and messageId', async () => {
    await tested.add([event('m_1', 'crm'), event('m_2')])
    const app = { ...event('m_1', 'crm'), sourceId: 'app' }
    expect(await tested.outcomes([event('m_1', 'crm'), event('m_2', 'crm'), app])).toEqual([
      'duplicate',
      'duplicate',
      'routed',
    ])
    expect(await tested.store.ledger()).toMatchObject({ pending: 2 })
  })

  test('distinguishes similar pairs of source and messageId', async () => {
    const pairs = [
      ['a', 'bc'],
      ['ab', 'c'],
      ['a\n', 'bc'],
      ['a', '\nbc'],
      ['1:a', 'bc'],
      ['A', 'bc'],
      ['a', 'bc '],
      ['a', 'é'],
      ['a', 'e\u0301'],
    ] as const
    const batch = pairs.map(([sourceId, messageId]) => ({ ...event(messageId), sourceId }))
    expect(await tested.outcomes(batch)).toEqual(pairs.map(() => 'filtered'))
    expect(await tested.outcomes(batch)).toEqual(pairs.map(() => 'duplicate'))
  })

  test('recognises a duplicate of a delivered event', async () => {
    await tested.settle(delivered(await tested.leaseOne()))
    expect(await tested.outcomes([event('m_1', 'crm')])).toEqual(['duplicate'])
    expect(await tested.claim('crm')).toEqual([])
  })

  test('recognises a duplicate of an event that was added since the given time', async () => {
    const added = event('m_1', 'crm')
    await tested.add([added])
    expect(await tested.outcomes([added], { atMs: nowMs + 5, seenSinceMs: nowMs })).toEqual([
      'duplicate',
    ])
  })

  test('accepts an event again if it was added before the given time', async () => {
    const added = event('m_1', 'crm')
    await tested.add([added])
    const later = { atMs: nowMs + 5, seenSinceMs: nowMs + 1 }
    expect(await tested.outcomes([added, added], later)).toEqual(['routed', 'duplicate'])
    expect(await tested.outcomes([added], later)).toEqual(['duplicate'])
    const again = { atMs: nowMs + 9, seenSinceMs: nowMs + 5 }
    expect(await tested.outcomes([added], again)).toEqual(['duplicate'])
    expect(messageIds(await tested.claim('crm', { dueByMs: nowMs + 9 }))).toEqual(['m_1', 'm_1'])
  })

  test('does not refresh the time of an event when a duplicate arrives', async () => {
    const added = event('m_1')
    await tested.add([added])
    await tested.add([added], { atMs: nowMs + 5 })
    expect(await tested.outcomes([added], { atMs: nowMs + 9, seenSinceMs: nowMs + 1 })).toEqual([
      'filtered',
    ])
  })
}

function handsOver(tested: StoreUnderTest): void {
  const roomFor = (deliveriesMax: number): { readonly handOver: readonly Room[] } => ({
    handOver: [{ destinationId: 'crm', deliveriesMax }],
  })

  test('hands over as many deliveries as there is room for, and lets the rest wait', async () => {
    const { leased } = await tested.add(events(5, 'crm'), roomFor(2))
    expect(messageIds(leased)).toEqual(['m_1', 'm_2'])
    expect(messageIds(await tested.claim('crm'))).toEqual(['m_3', 'm_4', 'm_5'])
  })

  test('hands over a delivery as a claim would return it', async () => {
    const { leased } = await tested.add([event('m_1', 'crm')], roomFor(1))
    expect(leased).toHaveLength(1)
    expect(leased[0]).toMatchObject({
      destinationId: 'crm',
      messageId: 'm_1',
      type: 'track',
      body: '{"to":"crm","messageId":"m_1"}',
      lane: 'first',
      acceptedAtMs: nowMs,
      dueAtMs: nowMs,
      attempts: 0,
      windowAttempts: 0,
      firstAttemptAtMs: null,
      holds: [],
    })
    expect(messageIds(await tested.list({ id: leased[0]!.id }))).toEqual(['m_1'])
  })

  test('applies the room of each destination, in the order of the events', async () => {
    const { leased } = await tested.add(events(3, 'crm', 'mail', 'ads'), {
      handOver: [
        { destinationId: 'mail', deliveriesMax: 1 },
        { destinationId: 'crm', deliveriesMax: 9 },
        { destinationId: 'unknown', deliveriesMax: 9 },
      ],
    })
    expect(messageIds(leased)).toEqual(['m_1', 'm_1', 'm_2', 'm_3'])
    const to = (id: string): readonly string[] =>
      messageIds(leased.filter(({ destinationId }) => destinationId === id))
    expect(to('crm')).toEqual(['m_1', 'm_2', 'm_3'])
    expect(to('mail')).toEqual(['m_1'])
    expect(messageIds(await tested.claim('crm'))).toEqual([])
    expect(messageIds(await tested.claim('mail'))).toEqual(['m_2', 'm_3'])
    expect(messageIds(await tested.claim('ads'))).toEqual(['m_1', 'm_2', 'm_3'])
  })

  test('hands over nothing without room', async () => {
    expect((await tested.add([event('m_1', 'crm')], roomFor(0))).leased).toEqual([])
    expect(messageIds(await tested.claim('crm'))).toEqual(['m_1'])
  })

  test('hands over new deliveries, not waiting ones or duplicates', async () => {
    await tested.add([event('m_1', 'crm')])
    const batch = [event('m_1', 'crm'), event('m_2'), event('m_3', 'crm')]
    expect(messageIds((await tested.add(batch, roomFor(2))).leased)).toEqual(['m_3'])
    expect(messageIds(await tested.claim('crm'))).toEqual(['m_1'])
  })

  test('leases what it hands over until it is settled', async () => {
    const { leased } = await tested.add(events(2, 'crm'), roomFor(2))
    expect(await tested.claim('crm')).toEqual([])
    expect(await tested.nextDue('crm')).toEqual([])
    expect(await tested.store.ledger()).toMatchObject({ pending: 2 })
    await tested.settle(delivered(leased[0]!), returned(leased[1]!))
    expect(await tested.store.ledger()).toMatchObject({ delivered: 1, pending: 1 })
    expect(messageIds(await tested.claim('crm'))).toEqual(['m_2'])
  })

  test('leases no delivery twice while deliveries are claimed concurrently', async () => {
    const added = Array.from({ length: 10 }, (_, index) =>
      tested.add([event(`m_${index}`, 'crm'), event(`n_${index}`, 'crm')], roomFor(1)),
    )
    const claims = Array.from({ length: 5 }, () => tested.claim('crm', { deliveriesMax: 3 }))
    const handedOver = (await Promise.all(added)).flatMap(({ leased }) => leased)
    const claimed = [...(await Promise.all(claims)).flat(), ...(await tested.claim('crm'))]
    expect(handedOver).toHaveLength(10)
    expect(claimed).toHaveLength(10)
    expect(new Set([...handedOver, ...claimed].map(({ id }) => id)).size).toBe(20)
  })
}
