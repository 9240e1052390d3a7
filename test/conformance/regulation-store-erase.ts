import { describe, expect, test } from 'vitest'
import type { NewEvent } from '../../src/delivery/index.ts'
import { beginSync, vip } from './audience-store-under-test.ts'
import {
  eventAbout,
  notificationAbout,
  type RegulationsUnderTest,
} from './regulation-store-under-test.ts'
import { oddIds } from './regulation-store-suppress.ts'
import { delivered, ended, nowMs, requestOf, retried } from './store-under-test.ts'

/** Tests of `erase` with deliveries that are not leased, and with members. */
export function eraseSuite(tested: RegulationsUnderTest): void {
  describe('erase', () => {
    waiting(tested)
    settled(tested)
    fields(tested)
    isLimited(tested)
    isBounded(tested)
    members(tested)
  })
}

const erased = { userId: null, body: '' }
const failed = {
  ...erased,
  state: 'failed',
  reason: 'erased',
  settledAtMs: nowMs + 5,
  dueAtMs: null,
}

function waiting(tested: RegulationsUnderTest): void {
  test('fails waiting first tries and retries, to several destinations', async () => {
    await tested.retryLater(await tested.leaseAbout('u_1'), nowMs + 60_000)
    await tested.add([eventAbout('u_1', { to: ['crm', 'ads'] })])
    const id = await tested.create('DELETE_INTERNAL', ['u_1'])
    expect(await tested.erase(id, { atMs: nowMs + 5 })).toBe('nothing')
    const stories = await tested.stories()
    expect(stories).toMatchObject([failed, failed, failed])
    expect(stories[0]).toMatchObject({ attempts: 1, requests: [{ status: 503, excerpt: '' }] })
    expect(await tested.claim('crm', { lane: 'retry', dueByMs: nowMs + 90_000 })).toEqual([])
    expect(await tested.claim('crm')).toEqual([])
    expect(await tested.nextDue('crm', 'ads')).toEqual([])
    expect((await tested.regulation(id)).erased).toEqual({ pending: 3, settled: 0, members: 0 })
    expect(await tested.store.ledger()).toMatchObject({ deliveries: 3, failed: 3, pending: 0 })
  })

  test('fails parked and manually retried deliveries', async () => {
    const parked = await tested.leaseAbout('u_1')
    await tested.settle({ kind: 'returned', delivery: parked, dueAtMs: nowMs + 30_000 })
    const manual = await tested.leaseAbout('u_1')
    await tested.settle(ended('failed', manual))
    await tested.retry({ id: manual.id })
    const id = await tested.create('DELETE_ONLY', ['u_1'])
    expect(await tested.erase(id, { atMs: nowMs + 5 })).toBe('nothing')
    expect(await tested.stories()).toMatchObject([failed, failed])
    expect(await tested.nextDue('crm')).toEqual([])
  })
}

function settled(tested: RegulationsUnderTest): void {
  test('erases ended deliveries, and keeps their state', async () => {
    const leased = []
    for (const kind of ['delivered', 'failed', 'expired'] as const) {
      const delivery = await tested.leaseAbout('u_1')
      leased.push(delivery)
      const end = kind === 'delivered' ? delivered(delivery) : ended(kind, delivery)
      await tested.log([requestOf(delivery, { excerpt: 'hello u_1' })], end)
    }
    const before = await tested.store.ledger()
    const id = await tested.create('DELETE_INTERNAL', ['u_1'])
    expect(await tested.erase(id, { atMs: nowMs + 5 })).toBe('nothing')
    const common = { ...erased, settledAtMs: nowMs, requests: [{ excerpt: '', status: 503 }] }
    expect(await tested.stories()).toMatchObject([
      { ...common, state: 'delivered', reason: null },
      { ...common, state: 'failed', reason: 'erased' },
      { ...common, state: 'expired', reason: 'erased' },
    ])
    expect(await tested.store.ledger()).toEqual(before)
    expect((await tested.regulation(id)).erased).toEqual({ pending: 0, settled: 3, members: 0 })
    await tested.log([requestOf(leased[0]!, { excerpt: 'too late', url: 'https://b.example.com' })])
    expect((await tested.story(leased[0]!)).requests).toMatchObject([
      { excerpt: '' },
      { excerpt: '', url: 'https://b.example.com' },
    ])
  })

  test('makes erased deliveries impossible to retry', async () => {
    await tested.settle(ended('failed', await tested.leaseAbout('u_1')))
    await tested.settle(ended('expired', await tested.leaseAbout('u_1')))
    await tested.settle(retried(await tested.leaseAbout('u_1')))
    await tested.settle(ended('failed', await tested.leaseAbout('u_2')))
    await tested.erase(await tested.create('DELETE_INTERNAL', ['u_1']))
    for (const { id, userId } of await tested.list()) {
      if (userId === null) expect(await tested.retry({ id, destinationId: 'crm' })).toBe(0)
    }
    expect(await tested.retry()).toBe(1)
    expect(await tested.claim('crm', { lane: 'manual' })).toHaveLength(1)
  })

  test('counts no delivery twice, and leaves deliveries that can be purged', async () => {
    const first = await tested.leaseAbout('u_1', { to: ['crm'] })
    await tested.settle(delivered(first))
    await tested.add([eventAbout('u_1', { to: ['crm', 'ads'] })])
    await tested.erase(await tested.create('DELETE_INTERNAL', ['u_1']))
    const again = await tested.create('DELETE_INTERNAL', ['u_1'])
    await tested.erase(again)
    expect((await tested.regulation(again)).erased).toEqual({ pending: 0, settled: 0, members: 0 })
    await tested.purge({ deliveredBeforeMs: nowMs + 1, failedBeforeMs: nowMs + 1 })
    expect(await tested.list()).toEqual([])
    await tested.expectBalance()
  })
}

function fields(tested: RegulationsUnderTest): void {
  test('erases a messageId that contains the userId, and accepts that messageId again', async () => {
    const named = eventAbout('u_1', { messageId: 'orderu_1x7', to: ['crm', 'ads'] })
    const other = eventAbout('u_1', { messageId: 'order-7' })
    const replaced = eventAbout('u_3', { type: 'alias', previousId: 'u_1', messageId: 'from u_1' })
    await tested.add([named, other, replaced])
    await tested.settle(delivered((await tested.claim('ads'))[0]!))
    await tested.erase(await tested.create('DELETE_INTERNAL', ['u_1']))
    const messageIds = (await tested.stories()).map(({ messageId }) => messageId)
    expect(messageIds.join()).not.toContain('u_1')
    expect(messageIds.filter((messageId) => messageId === 'order-7')).toHaveLength(1)
    expect(new Set(messageIds).size).toBe(4)
    expect(await tested.list({ messageId: 'orderu_1x7' })).toEqual([])
    expect(await tested.outcomes([named, other, replaced])).toEqual([
      'routed',
      'duplicate',
      'routed',
    ])
  })

  test('erases the messageId from the requests too', async () => {
    const delivery = await tested.leaseAbout('u_1', { messageId: 'of u_1' })
    await tested.log([requestOf(delivery)], delivered(delivery))
    await tested.erase(await tested.create('DELETE_INTERNAL', ['u_1']))
    const story = await tested.story(delivery)
    expect(story.requests).toMatchObject([{ messageId: story.messageId }])
    expect(story.messageId).not.toContain('u_1')
  })

  test('erases an alias from the userId or to it', async () => {
    await tested.add([
      eventAbout('u_1', { type: 'alias', previousId: 'u_2' }),
      eventAbout('u_3', { type: 'alias', previousId: 'u_1' }),
      eventAbout('u_3', { type: 'alias', previousId: 'u_2' }),
    ])
    await tested.erase(await tested.create('DELETE_INTERNAL', ['u_1']))
    const [first, second, third] = await tested.stories()
    expect([first, second]).toMatchObject([erased, erased])
    expect(third).toMatchObject({ userId: 'u_3', state: 'pending' })
  })

  test('matches any userId exactly', async () => {
    for (const [index, userId] of oddIds.entries()) {
      const sourceId = `s_${index}`
      await tested.add(oddIds.map((id) => eventAbout(id, { sourceId, to: [sourceId] })))
      const id = await tested.create('DELETE_INTERNAL', [userId], { sourceIds: [sourceId] })
      expect(await tested.erase(id)).toBe('nothing')
      const remaining = await tested.list({ destinationId: sourceId })
      const expected = oddIds.map((one) => (one === userId ? null : one))
      expect(remaining.map((delivery) => delivery.userId).toReversed()).toEqual(expected)
      expect((await tested.regulation(id)).erased.pending).toBe(1)
    }
  })
}

function isLimited(tested: RegulationsUnderTest): void {
  test('does not erase other users, events without a user or later events', async () => {
    await tested.add([eventAbout('u_2'), eventAbout(null)])
    const id = await tested.create('DELETE_INTERNAL', ['u_1'])
    await tested.add([eventAbout('u_1')])
    expect(await tested.erase(id)).toBe('nothing')
    expect(await tested.claim('crm')).toHaveLength(3)
    const bodies = (await tested.stories()).map(({ body }) => body)
    expect(bodies).not.toContain('')
  })

  test('erases events from the given sources and their replays only', async () => {
    const sourceIds = ['website', 'app', 'website/replay-7', 'website2', 'shop', 'shop/x']
    await tested.add(sourceIds.map((sourceId) => eventAbout('u_1', { sourceId })))
    const id = await tested.create('DELETE_INTERNAL', ['u_1'], { sourceIds: ['website', 'shop'] })
    expect(await tested.erase(id)).toBe('nothing')
    const remaining = (await tested.stories()).filter(({ userId }) => userId !== null)
    expect(remaining.map(({ sourceId }) => sourceId)).toEqual(['app', 'website2'])
    expect((await tested.regulation(id)).erased.pending).toBe(4)
  })

  test('does not erase the notifications of other regulations', async () => {
    const notifications = [notificationAbout('u_1')]
    await tested.create('DELETE_ONLY', ['u_1'], { notifications })
    const id = await tested.create('DELETE_INTERNAL', ['u_1'])
    expect(await tested.erase(id)).toBe('nothing')
    expect(await tested.claim('crm')).toHaveLength(1)
  })

  test.each(['SUPPRESS_ONLY', 'UNSUPPRESS', 'DELETE_ARCHIVE_ONLY'] as const)(
    'erases nothing for %s',
    async (type) => {
      await tested.add([eventAbout('u_1')])
      const id = await tested.create(type, ['u_1'])
      expect((await tested.regulation(id)).isStoreErased).toBe(true)
      expect(await tested.erase(id)).toBe('nothing')
      expect(await tested.claim('crm')).toHaveLength(1)
    },
  )

  test('has nothing to do for an unknown regulation', async () => {
    expect(await tested.erase('r_none')).toBe('nothing')
  })
}

function isBounded(tested: RegulationsUnderTest): void {
  test.each([1, 2, 7])('erases the same deliveries with %i rows per step', async (rowsMax) => {
    for (let turn = 0; turn < 6; turn++) {
      await tested.add([eventAbout('u_1', { to: ['ads', 'crm'] }), eventAbout('u_2')])
    }
    const [first, second] = await tested.claim('crm', { deliveriesMax: 2 })
    await tested.settle(delivered(first!), ended('failed', second!))
    const id = await tested.create('DELETE_INTERNAL', ['u_1', 'u_3'])
    const step = { id, nowMs, rowsMax }
    expect(await tested.all.regulations.erase(step)).toBe('more')
    expect((await tested.regulation(id)).isStoreErased).toBe(false)
    const { pending, settled } = (await tested.regulation(id)).erased
    expect(pending + settled).toBeLessThanOrEqual(rowsMax)
    expect(await tested.erase(id, { rowsMax })).toBe('nothing')
    const regulation = await tested.regulation(id)
    expect(regulation).toMatchObject({ isStoreErased: true, finishedAtMs: null })
    expect(regulation.erased).toEqual({ pending: 11, settled: 1, members: 0 })
    expect(await tested.list({ userId: 'u_1' })).toEqual([])
    expect(await tested.list({ userId: 'u_2' })).toHaveLength(6)
    expect(await tested.erase(id, { rowsMax })).toBe('nothing')
  })

  test('erases for 5,000 users at once', async () => {
    const userIds = Array.from({ length: 5_000 }, (_, index) => `user-${index}`)
    await tested.add(['user-0', 'user-4999', 'user-5000', 'user'].map((id) => eventAbout(id)))
    const id = await tested.create('SUPPRESS_WITH_DELETE', userIds)
    expect(await tested.erase(id)).toBe('nothing')
    expect((await tested.regulation(id)).erased.pending).toBe(2)
    expect((await tested.regulation(id)).userIds).toEqual(userIds)
    expect(await tested.outcomes([eventAbout('user-2500')])).toEqual(['suppressed'])
  })
}

function members(tested: RegulationsUnderTest): void {
  async function fill(key: string, sourceId: string): Promise<void> {
    const audience = { ...vip, key, computationId: `computation of ${key}`, sourceId }
    const eventOf = (): NewEvent => eventAbout(null, { to: [] })
    const sync = await beginSync(tested.all, audience, { nowMs, eventOf })
    const identities = [
      { userId: 'u_1', anonymousId: null, email: null },
      { userId: 'u_1', anonymousId: 'a_1', email: null },
      { userId: 'u_2', anonymousId: null, email: null },
      { userId: null, anonymousId: 'u_1', email: null },
    ]
    const listed = identities.map((identity) => ({ identity, value: 'true' }))
    await sync.take(...listed)
    await sync.release()
  }

  test('removes users from the audiences of the given sources, without calls', async () => {
    await fill('vip', 'website')
    await fill('new', 'app')
    const before = await tested.store.ledger()
    const id = await tested.create('DELETE_INTERNAL', ['u_1', 'u_3'], { sourceIds: ['website'] })
    expect(await tested.erase(id, { rowsMax: 1 })).toBe('nothing')
    expect((await tested.regulation(id)).erased).toEqual({ pending: 0, settled: 0, members: 2 })
    const counts = (await tested.all.audiences.list()).map(({ key, members: count }) => [
      key,
      count,
    ])
    expect(counts).toEqual([
      ['new', 4],
      ['vip', 2],
    ])
    const remaining = await tested.all.audiences.members({ key: 'vip', limit: 10, after: null })
    expect(remaining.map(({ identity }) => identity.userId).toSorted()).toEqual(
      ['u_2', null].toSorted(),
    )
    expect(await tested.store.ledger()).toEqual(before)
  })
}
