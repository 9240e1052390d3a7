import { describe, expect, test } from 'vitest'
import type { EndedCounts, LeasedDelivery, PurgeResult } from '../../src/delivery/index.ts'
import {
  delivered,
  ended,
  event,
  events,
  messageIds,
  nowMs,
  requestOf,
  retried,
  type StoreUnderTest,
} from './store-under-test.ts'

const dayMs = 86_400_000

type EndState = keyof EndedCounts

/** Tests of `purge`. */
export function purgeSuite(tested: StoreUnderTest): void {
  describe('purge', () => {
    purges(tested)
    expires(tested)
    abandons(tested)
    purgesMessageIds(tested)
    isBounded(tested)
  })
}

/** Adds an event for crm for each element of `ends`, and settles it in that state at that time. */
async function settleEach(
  tested: StoreUnderTest,
  ends: readonly (readonly [EndState, number])[],
): Promise<readonly LeasedDelivery[]> {
  await tested.add(events(ends.length, 'crm'))
  const leased = await tested.claim('crm')
  for (const [index, delivery] of leased.entries()) {
    const [kind, atMs] = ends[index]!
    const settlement = { kind, delivery, attempts: 1, reason: 'status_404' }
    const requests = [requestOf(delivery)]
    await tested.store.settle({ nowMs: atMs, settlements: [settlement], requests })
  }
  return leased
}

function purges(tested: StoreUnderTest): void {
  test('does nothing without old rows', async () => {
    expect(await tested.purge({ deliveredBeforeMs: nowMs, messageIdsBeforeMs: nowMs })).toEqual({
      rows: 0,
      expired: [],
    })
    await settleEach(tested, [
      ['delivered', nowMs],
      ['failed', nowMs],
      ['expired', nowMs],
    ])
    await tested.add([event('m_9', 'crm')])
    const result = await tested.purge({
      deliveredBeforeMs: nowMs,
      failedBeforeMs: nowMs,
      abandonedBeforeMs: nowMs,
      messageIdsBeforeMs: nowMs,
    })
    expect(result).toEqual({ rows: 0, expired: [] })
    expect(await tested.list()).toHaveLength(4)
  })

  test.each([
    ['delivered', { deliveredBeforeMs: nowMs + 1 }, ['m_6', 'm_5', 'm_4', 'm_3', 'm_2']],
    ['failed or expired', { failedBeforeMs: nowMs + 1 }, ['m_6', 'm_5', 'm_4', 'm_1']],
  ] as const)(
    'deletes deliveries that were %s before a given time',
    async (_name, moment, remaining) => {
      const leased = await settleEach(tested, [
        ['delivered', nowMs],
        ['failed', nowMs],
        ['expired', nowMs],
        ['delivered', nowMs + 1],
        ['failed', nowMs + 1],
        ['expired', nowMs + 1],
      ])
      const before = await tested.store.ledger()
      const result = await tested.purge(moment)
      expect(result.rows).toBeGreaterThan(0)
      expect(result.expired).toEqual([])
      expect(messageIds(await tested.list())).toEqual(remaining)
      for (const delivery of leased) {
        const story = await tested.store.story(delivery)
        expect(story?.requests.length).toBe(
          remaining.some((id) => id === delivery.messageId) ? 1 : undefined,
        )
      }
      expect(await tested.store.ledger()).toEqual(before)
      await tested.expectBalance()
      expect(await tested.purge(moment)).toEqual({ rows: 0, expired: [] })
    },
  )

  test('keeps pending deliveries, however old their rounds are', async () => {
    const first = await tested.leaseOne('m_1')
    await tested.settle(retried(first, nowMs + 60_000))
    await tested.failOne('m_2')
    await tested.retry({ messageId: 'm_2' })
    await tested.add([event('m_3', 'crm')])
    const laterMs = nowMs + dayMs
    await tested.purge({ deliveredBeforeMs: laterMs, failedBeforeMs: laterMs })
    expect(messageIds(await tested.list())).toEqual(['m_3', 'm_2', 'm_1'])
    expect((await tested.story(first)).body).toBe(first.body)
  })

  test('counts purged deliveries in the audit', async () => {
    await settleEach(tested, [
      ['delivered', nowMs],
      ['delivered', nowMs],
      ['failed', nowMs],
      ['expired', nowMs + 1],
      ['delivered', nowMs + 1],
    ])
    await tested.purge({ deliveredBeforeMs: nowMs + 1, failedBeforeMs: nowMs + 1 })
    expect(await tested.store.audit()).toMatchObject({
      ledger: { deliveries: 5, delivered: 3, failed: 1, expired: 1, pending: 0 },
      counted: { delivered: 1, failed: 0, expired: 1, pending: 0 },
      purged: { delivered: 2, failed: 1, expired: 0 },
    })
  })

  test('keeps the body of an event until its last delivery is purged', async () => {
    const body = '{"text":"the same for both"}'
    const deliveries = ['crm', 'mail'].map((destinationId) => ({ destinationId, body }))
    await tested.add([{ ...event('m_1'), deliveries }])
    await tested.settle(delivered(await tested.claimOne('crm')))
    await tested.purge({ deliveredBeforeMs: nowMs + 1 })
    const delivery = await tested.claimOne('mail')
    expect(delivery.body).toBe(body)
    expect((await tested.story(delivery)).body).toBe(body)
    await tested.expectBalance()
    await tested.settle(ended('failed', delivery))
    await tested.purge({ failedBeforeMs: nowMs + 1 })
    expect(await tested.list()).toEqual([])
  })

  test('never lets an id be reused, even after everything was purged', async () => {
    const [first] = await settleEach(tested, [['delivered', nowMs]])
    const laterMs = nowMs + 1
    await tested.purge({ deliveredBeforeMs: laterMs, messageIdsBeforeMs: laterMs })
    const second = await tested.leaseOne('m_1')
    expect(second.id).toBeGreaterThan(first!.id)
    expect((await tested.story(second)).requests).toEqual([])
  })

  test('makes deliveries impossible to retry or settle', async () => {
    const failed = await tested.failOne()
    await tested.purge({ failedBeforeMs: nowMs + 1 })
    expect(await tested.retry()).toBe(0)
    await tested.settle(delivered(failed))
    expect(await tested.store.ledger()).toMatchObject({ delivered: 0, failed: 1, pending: 0 })
  })
}

/** Returns the number of deliveries that a purge let expire, by destination and reason. */
function countsOf({ expired }: PurgeResult): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { destinationId, reason, deliveries } of expired) {
    const key = `${destinationId} ${reason}`
    counts[key] = (counts[key] ?? 0) + deliveries
  }
  return counts
}

function totalOf({ expired }: PurgeResult): number {
  return expired.reduce((sum, { deliveries }) => sum + deliveries, 0)
}

function expires(tested: StoreUnderTest): void {
  /** Leases a delivery for each destination, and schedules a retry whose window ends at `expiresAtMs`. */
  const retryUntil = async (expiresAtMs: number, ...destinationIds: readonly string[]) => {
    await tested.add([event(`until_${expiresAtMs}`, ...destinationIds)])
    for (const destinationId of destinationIds) {
      const delivery = await tested.claimOne(destinationId)
      await tested.settle({ ...retried(delivery, nowMs + dayMs), expiresAtMs })
    }
  }

  test('expires waiting deliveries of all destinations whose retry window is over', async () => {
    await retryUntil(nowMs - 1, 'crm', 'mail')
    await retryUntil(nowMs, 'crm')
    await tested.failOne('by_hand')
    await tested.retry({ messageId: 'by_hand' })
    await tested.add([event('untried', 'crm')])
    const result = await tested.purge({})
    expect(countsOf(result)).toEqual({ 'crm window_over': 1, 'mail window_over': 1 })
    expect(result.rows).toBe(2)
    const expired = await tested.list({ states: ['expired'] })
    expect(expired).toHaveLength(2)
    for (const delivery of expired) {
      expect(delivery).toMatchObject({ reason: 'window_over', settledAtMs: nowMs, attempts: 1 })
    }
    const dueByMs = nowMs + dayMs
    const remaining = messageIds(await tested.claim('crm', { lane: 'retry', dueByMs }))
    expect(remaining).toEqual([`until_${nowMs}`])
    expect(await tested.claim('mail', { lane: 'retry', dueByMs })).toEqual([])
    expect(await tested.nextDue('mail')).toEqual([])
    expect(await tested.store.ledger()).toMatchObject({ pending: 3, expired: 2 })
  })

  test('does not expire leased deliveries, even if their retry window is over', async () => {
    await retryUntil(nowMs - 1, 'crm')
    const delivery = await tested.claimOne('crm', { lane: 'retry', dueByMs: nowMs + dayMs })
    expect(await tested.purge({})).toEqual({ rows: 0, expired: [] })
    await tested.settle(delivered(delivery))
    expect(await tested.store.ledger()).toMatchObject({ delivered: 1, expired: 0 })
  })

  test('does not expire a manual retry of an expired delivery, which has a new window', async () => {
    await retryUntil(nowMs - 1, 'crm')
    await tested.purge({})
    expect(await tested.retry()).toBe(1)
    expect(await tested.purge({ nowMs: nowMs + dayMs })).toEqual({ rows: 0, expired: [] })
    const delivery = await tested.claimOne('crm', { lane: 'manual' })
    expect(delivery).toMatchObject({ attempts: 1, windowAttempts: 0, firstAttemptAtMs: null })
  })

  test('expires at most rowsMax deliveries at once', async () => {
    for (const messageId of ['m_1', 'm_2', 'm_3']) {
      const delivery = await tested.leaseOne(messageId)
      await tested.settle({ ...retried(delivery, nowMs + dayMs), expiresAtMs: nowMs - 1 })
    }
    expect(totalOf(await tested.purge({ rowsMax: 2 }))).toBe(2)
    expect(totalOf(await tested.purge({ rowsMax: 2 }))).toBe(1)
    expect(totalOf(await tested.purge({ rowsMax: 2 }))).toBe(0)
  })
}

function abandons(tested: StoreUnderTest): void {
  test('expires first tries and manual retries that were due before a given time', async () => {
    await tested.failOne('manual')
    await tested.retry()
    await tested.settle(retried(await tested.leaseOne('retry'), nowMs - 1))
    await tested.settle(retried(await tested.leaseOne('later'), nowMs + 1))
    await tested.add([event('first', 'crm', 'unknown')])
    await tested.add([event('young', 'crm')], { atMs: nowMs + 1 })
    const atMs = nowMs + 3
    const result = await tested.purge({ nowMs: atMs, abandonedBeforeMs: nowMs + 1 })
    expect(countsOf(result)).toEqual({ 'crm abandoned': 2, 'unknown abandoned': 1 })
    expect(result.rows).toBeGreaterThanOrEqual(3)
    const expired = await tested.list({ states: ['expired'] })
    expect(messageIds(expired).toSorted()).toEqual(['first', 'first', 'manual'])
    for (const delivery of expired) {
      expect(delivery).toMatchObject({ reason: 'abandoned', settledAtMs: atMs, dueAtMs: null })
    }
    expect(await tested.store.ledger()).toMatchObject({ pending: 3, expired: 3, failed: 0 })
    const pending = messageIds(await tested.list({ states: ['pending'] }))
    expect(pending).toEqual(['young', 'later', 'retry'])
    const dueByMs = nowMs + dayMs
    expect(messageIds(await tested.claim('crm', { dueByMs }))).toEqual(['young'])
    const retries = await tested.claim('crm', { lane: 'retry', dueByMs })
    expect(messageIds(retries)).toEqual(['retry', 'later'])
    expect(await tested.claim('crm', { lane: 'manual', dueByMs })).toEqual([])
    expect(await tested.claim('unknown', { dueByMs })).toEqual([])
  })

  test('does not abandon leased deliveries', async () => {
    const handOver = [{ destinationId: 'crm', deliveriesMax: 1 }]
    const { leased } = await tested.add(events(2, 'crm'), { handOver })
    const claimed = await tested.claimOne('crm')
    expect(await tested.purge({ abandonedBeforeMs: nowMs + dayMs })).toEqual({
      rows: 0,
      expired: [],
    })
    await tested.settle(delivered(leased[0]!), delivered(claimed))
    expect(await tested.store.ledger()).toMatchObject({ delivered: 2, expired: 0, pending: 0 })
  })

  test('lets abandoned deliveries be retried manually, and purges them later', async () => {
    await tested.add(events(2, 'crm'))
    await tested.purge({ abandonedBeforeMs: nowMs + 1 })
    expect(await tested.retry({ messageId: 'm_1' })).toBe(1)
    expect(messageIds(await tested.claim('crm', { lane: 'manual' }))).toEqual(['m_1'])
    await tested.purge({ failedBeforeMs: nowMs })
    expect(await tested.list()).toHaveLength(2)
    await tested.purge({ failedBeforeMs: nowMs + 1 })
    expect(messageIds(await tested.list())).toEqual(['m_1'])
  })
}

function purgesMessageIds(tested: StoreUnderTest): void {
  test('deletes messageIds that were added before a given time', async () => {
    await tested.add([event('m_1', 'crm'), event('m_2')])
    await tested.add([event('m_3')], { atMs: nowMs + 1 })
    const result = await tested.purge({ messageIdsBeforeMs: nowMs + 1 })
    expect(result.rows).toBeGreaterThan(0)
    expect(await tested.outcomes([event('m_1'), event('m_2'), event('m_3')])).toEqual([
      'filtered',
      'filtered',
      'duplicate',
    ])
    expect(messageIds(await tested.list())).toEqual(['m_1'])
  })

  test('keeps a messageId that was accepted again since the given time', async () => {
    await tested.add([event('m_1')])
    await tested.add([event('m_1')], { atMs: nowMs + 9, seenSinceMs: nowMs + 1 })
    expect(await tested.purge({ messageIdsBeforeMs: nowMs + 9 })).toEqual({ rows: 0, expired: [] })
    expect(await tested.outcomes([event('m_1')])).toEqual(['duplicate'])
  })
}

function isBounded(tested: StoreUnderTest): void {
  test('purges a bounded number of rows of each kind at a time, until none is left', async () => {
    const each = (kind: EndState): readonly (readonly [EndState, number])[] =>
      Array.from({ length: 5 }, () => [kind, nowMs] as const)
    await settleEach(tested, [...each('delivered'), ...each('failed'), ...each('expired')])
    await tested.add(events(5, 'mail', 'ads').map((added) => ({ ...added, sourceId: 'app' })))
    const laterMs = nowMs + 1
    const request = {
      deliveredBeforeMs: laterMs,
      failedBeforeMs: laterMs,
      abandonedBeforeMs: laterMs,
      messageIdsBeforeMs: laterMs,
      rowsMax: 2,
      nowMs: laterMs,
    }
    let abandoned = 0
    for (let rounds = 0; ; rounds++) {
      const before = (await tested.store.audit()).purged
      const result = await tested.purge(request)
      const after = (await tested.store.audit()).purged
      for (const state of ['delivered', 'failed', 'expired'] as const) {
        expect(after[state] - before[state]).toBeLessThanOrEqual(2)
      }
      const expired = totalOf(result)
      expect(expired).toBeLessThanOrEqual(2)
      await tested.expectBalance()
      abandoned += expired
      if (result.rows === 0) break
      expect(rounds).toBeLessThan(50)
    }
    expect(abandoned).toBe(10)
    // Abandoned deliveries ended at `laterMs`, so they are not old enough to be deleted.
    expect(await tested.store.audit()).toMatchObject({
      counted: { delivered: 0, failed: 0, expired: 10, pending: 0 },
      purged: { delivered: 5, failed: 5, expired: 5 },
    })
    const again = events(15).map(({ messageId }) => event(messageId))
    expect(new Set(await tested.outcomes(again))).toEqual(new Set(['filtered']))
  })

  test('deletes a bounded number of messageIds at a time', async () => {
    await tested.add(events(5))
    const request = { messageIdsBeforeMs: nowMs + 1, rowsMax: 2 }
    expect((await tested.purge(request)).rows).toBeGreaterThan(0)
    const outcomes = await tested.outcomes(events(5))
    const known = outcomes.filter((outcome) => outcome === 'duplicate').length
    expect(known).toBeGreaterThanOrEqual(3)
    expect(known).toBeLessThan(5)
  })
}
