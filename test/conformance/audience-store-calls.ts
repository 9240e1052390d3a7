import { describe, expect, test } from 'vitest'
import type { MembershipChange } from '../../src/audience/index.ts'
import type { NewEvent } from '../../src/delivery/index.ts'
import { emptyLedger } from '../../src/model/index.ts'
import { leaver, member, vip, type AudiencesUnderTest } from './audience-store-under-test.ts'
import { event, nowMs } from './store-under-test.ts'

/** Tests that the calls for changes are treated like other events. */
export function callsSuite(tested: AudiencesUnderTest): void {
  describe('calls', () => {
    areDeliveries(tested)
    areAtomic(tested)
  })
}

function areDeliveries(tested: AudiencesUnderTest): void {
  test('wait in the lane first, with one delivery per destination', async () => {
    const sync = await tested.beginSync({ destinationIds: ['crm', 'mail'], atMs: nowMs + 3 })
    await sync.take(member('a'))
    const listed = await tested.store.list({ filter: {}, limit: 10 })
    const waiting = {
      sourceId: 'website',
      messageId: 'call_1',
      type: 'identify',
      userId: 'a',
      state: 'pending',
      lane: 'first',
      acceptedAtMs: nowMs + 3,
      dueAtMs: nowMs + 3,
      attempts: 0,
    }
    expect(listed).toMatchObject([waiting, waiting])
    expect(listed.map(({ destinationId }) => destinationId).toSorted()).toEqual(['crm', 'mail'])
    const story = await tested.store.story(listed[0]!)
    expect(JSON.parse(story!.body)).toEqual({ key: 'vip', ...member('a') })
    expect(await tested.store.nextDue({ nowMs, destinationIds: ['crm'] })).toEqual([
      { destinationId: 'crm', lane: 'first', dueAtMs: nowMs + 3 },
    ])
  })

  test('are sent in the order of the list', async () => {
    const list = ['c', 'a', 'd', 'b'].map((userId) => member(userId))
    await tested.sync(list)
    expect(await tested.calls()).toEqual(list)
  })

  test('count as routed in the ledger, including those for members that leave', async () => {
    const settings = { destinationIds: ['crm', 'mail'] }
    await tested.sync([member('a'), member('b')], settings)
    await tested.sync([member('a', '"x"')], settings)
    expect(await tested.store.ledger()).toEqual({
      ...emptyLedger,
      accepted: 4,
      routed: 4,
      deliveries: 8,
      pending: 8,
    })
  })

  test('without a destination count as filtered, and membership still changes', async () => {
    const settings = { destinationIds: [] }
    await tested.sync([member('a'), member('b')], settings)
    expect(await tested.members()).toHaveLength(2)
    await tested.sync([member('a')], settings)
    expect(await tested.members()).toEqual([member('a')])
    expect(await tested.store.ledger()).toEqual({ ...emptyLedger, accepted: 3, filtered: 3 })
  })

  test('with a known messageId count as duplicates, and membership still changes', async () => {
    const eventOf = ({ identity }: MembershipChange): NewEvent => event(identity.userId!, 'crm')
    await tested.sync([member('a'), member('b')], { eventOf })
    await tested.sync([member('a'), member('b', '2')], { eventOf })
    expect(await tested.members()).toEqual([member('a'), member('b', '2')])
    expect(await tested.store.ledger()).toMatchObject({ accepted: 3, routed: 2, duplicate: 1 })
  })
}

function areAtomic(tested: AudiencesUnderTest): void {
  /** Returns an `eventOf` that throws for one user. */
  const failingFor =
    (userId: string) =>
    (change: MembershipChange): NewEvent => {
      if (change.identity.userId === userId) throw new Error('cannot build the call')
      return tested.eventOf(change, vip, ['crm'])
    }

  test('that cannot be built roll back the whole part of the list', async () => {
    await tested.sync([member('a', '1')])
    await tested.calls()
    const ledger = await tested.store.ledger()
    const sync = await tested.beginSync({ eventOf: failingFor('bad') })
    const part = [member('new'), member('a', '2'), member('bad')]
    await expect(sync.take(...part)).rejects.toThrow()
    expect(await tested.members()).toEqual([member('a', '1')])
    expect(await tested.audience()).toMatchObject({ members: 1 })
    expect(await tested.store.ledger()).toEqual(ledger)
    expect(await tested.calls()).toEqual([])
    // No member of that part counts as listed.
    expect(await sync.take(member('a', '2'), member('new'))).toEqual(['changed', 'entered'])
    await sync.finish()
    expect(await tested.calls()).toEqual([member('a', '2'), member('new')])
  })

  test('that cannot be built keep members from leaving', async () => {
    await tested.sync([member('a'), member('bad'), member('c')])
    await tested.calls()
    const failing = await tested.beginSync({ eventOf: failingFor('bad') })
    await failing.take(member('c'))
    await expect(failing.finish()).rejects.toThrow()
    expect(await tested.members()).toHaveLength(3)
    expect(await tested.calls()).toEqual([])
    await tested.sync([member('c')])
    expect(await tested.calls()).toEqual(expect.arrayContaining([leaver('a'), leaver('bad')]))
    expect(await tested.members()).toEqual([member('c')])
  })

  test('that cannot be built do not affect concurrent writes', async () => {
    const sync = await tested.beginSync({ eventOf: failingFor('bad') })
    const other = await tested.beginSync({ audience: { key: 'other' } })
    const results = await Promise.allSettled([
      tested.store.add({ nowMs, seenSinceMs: 0, events: [event('m_1', 'crm')], handOver: [] }),
      sync.take(member('a'), member('bad')),
      other.take(member('b')),
      sync.take(member('c')),
    ])
    const statuses = results.map(({ status }) => status)
    expect(statuses).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
    expect(await tested.members()).toEqual([member('c')])
    expect(await tested.members('other')).toEqual([member('b')])
    expect(await tested.store.ledger()).toMatchObject({ accepted: 3, pending: 3 })
  })
}
