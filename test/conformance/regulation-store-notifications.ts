import { describe, expect, test } from 'vitest'
import {
  notificationAbout,
  stream,
  type RegulationsUnderTest,
} from './regulation-store-under-test.ts'
import { delivered, ended, nowMs, retried } from './store-under-test.ts'

/** Tests how notifications are erased and counted. */
export function notificationSuite(tested: RegulationsUnderTest): void {
  describe('a notification', () => {
    erased(tested)
    counted(tested)
  })
}

function create(tested: RegulationsUnderTest, ...userIds: readonly string[]): Promise<string> {
  const notifications = userIds.map((userId) => notificationAbout(userId))
  return tested.create('DELETE_ONLY', userIds, { notifications })
}

function erased(tested: RegulationsUnderTest): void {
  test.each([1, 100])('is erased once it is delivered (rowsMax %i)', async (rowsMax) => {
    const id = await create(tested, 'u_1', 'u_2')
    expect(await tested.erase(id, { rowsMax })).toBe('waiting')
    expect(await tested.regulation(id)).toMatchObject({ isStoreErased: true })
    const [first, second] = await tested.claim('crm')
    expect(await tested.erase(id, { rowsMax })).toBe('waiting')
    await tested.settle(delivered(first!), retried(second!))
    expect(await tested.erase(id, { rowsMax })).toBe('waiting')
    expect(await tested.story(first!)).toMatchObject({ userId: null, body: '', state: 'delivered' })
    expect(await tested.story(second!)).toMatchObject({ userId: 'u_2', body: second!.body })
    const again = await tested.claimOne('crm', { lane: 'retry' })
    await tested.settle(delivered(again))
    expect(await tested.erase(id, { rowsMax })).toBe('nothing')
    expect(await tested.story(second!)).toMatchObject({
      userId: null,
      body: '',
      state: 'delivered',
    })
    expect((await tested.regulation(id)).erased).toEqual({ pending: 0, settled: 0, members: 0 })
  })

  test('is erased if it is delivered after an erasure has passed it', async () => {
    const id = await create(tested, 'u_1', 'u_2')
    expect(await tested.erase(id)).toBe('waiting')
    const [first, second] = await tested.claim('crm')
    await tested.settle(delivered(second!))
    // This step checks only the first one, which is pending.
    expect(await tested.all.regulations.erase({ id, nowMs, rowsMax: 1 })).toBe('more')
    await tested.settle(delivered(first!))
    await tested.erase(id)
    expect(await tested.erase(id)).toBe('nothing')
    const erased = { userId: null, body: '', state: 'delivered' }
    expect(await tested.stories()).toMatchObject([erased, erased])
  })

  test.each(['failed', 'expired'] as const)('is kept if it %s', async (kind) => {
    const id = await create(tested, 'u_1', 'u_2')
    const [first, second] = await tested.claim('crm')
    await tested.settle(ended(kind, first!), delivered(second!))
    expect(await tested.erase(id)).toBe('nothing')
    expect((await tested.regulation(id)).isStoreErased).toBe(true)
    expect(await tested.story(first!)).toMatchObject({
      userId: 'u_1',
      body: first!.body,
      reason: 'status_404',
    })
    expect(await tested.retry()).toBe(1)
  })

  test('is erased if it is retried and delivered just before the end', async () => {
    const id = await create(tested, 'u_1')
    await tested.settle(ended('failed', await tested.claimOne('crm')))
    expect(await tested.erase(id)).toBe('nothing')
    await tested.retry()
    const delivery = await tested.claimOne('crm', { lane: 'manual' })
    await tested.settle(delivered(delivery))
    expect(await tested.all.regulations.finish({ id, nowMs })).toBe(false)
    expect(await tested.erase(id)).toBe('nothing')
    expect(await tested.story(delivery)).toMatchObject({ userId: null, body: '' })
    expect(await tested.all.regulations.finish({ id, nowMs })).toBe(true)
  })

  test('that is retried just before the end is waited for and erased', async () => {
    const id = await create(tested, 'u_1')
    await tested.settle(ended('failed', await tested.claimOne('crm')))
    expect(await tested.erase(id)).toBe('nothing')
    expect(await tested.retry()).toBe(1)
    expect(await tested.all.regulations.finish({ id, nowMs })).toBe(false)
    const pending = [stream('website', 'crm', { pending: 1 })]
    expect(await tested.regulation(id)).toMatchObject({ finishedAtMs: null, streams: pending })
    expect(await tested.erase(id)).toBe('waiting')
    const delivery = await tested.claimOne('crm', { lane: 'manual' })
    await tested.settle(delivered(delivery))
    expect(await tested.erase(id)).toBe('nothing')
    expect(await tested.story(delivery)).toMatchObject({ userId: null, body: '' })
    expect(await tested.all.regulations.finish({ id, nowMs })).toBe(true)
    const streams = [stream('website', 'crm', { delivered: 1 })]
    expect(await tested.regulation(id)).toMatchObject({ finishedAtMs: nowMs, streams })
  })
}

function counted(tested: RegulationsUnderTest): void {
  test('is counted by source, destination and state', async () => {
    const notifications = [
      notificationAbout('u_1', { to: ['crm', 'ads'] }),
      notificationAbout('u_2', { to: ['crm'] }),
      notificationAbout('u_1', { to: ['crm'], sourceId: 'app' }),
    ]
    await create(tested, 'u_1')
    const id = await tested.create('DELETE_ONLY', ['u_1', 'u_2'], { notifications })
    await create(tested, 'u_1')
    expect((await tested.regulation(id)).streams).toEqual([
      stream('website', 'crm', { pending: 2 }),
      stream('website', 'ads', { pending: 1 }),
      stream('app', 'crm', { pending: 1 }),
    ])
    const [, first, second, third] = await tested.claim('crm')
    await tested.settle(delivered(first!), ended('failed', second!), ended('expired', third!))
    await tested.erase(id)
    expect((await tested.regulation(id)).streams).toEqual([
      stream('website', 'crm', { delivered: 1, failed: 1 }),
      stream('website', 'ads', { pending: 1 }),
      stream('app', 'crm', { expired: 1 }),
    ])
  })

  test('still counts as delivered after it is purged', async () => {
    const id = await create(tested, 'u_1', 'u_2')
    const [first] = await tested.claim('crm')
    await tested.settle(delivered(first!))
    await tested.purge({ deliveredBeforeMs: nowMs + 1 })
    expect((await tested.regulation(id)).streams).toEqual([
      stream('website', 'crm', { pending: 1, delivered: 1 }),
    ])
  })

  test('is not purged before its regulation finishes if it failed or expired', async () => {
    const id = await create(tested, 'u_1', 'u_2', 'u_3')
    const [first, second] = await tested.claim('crm')
    await tested.settle(ended('failed', first!), ended('expired', second!))
    await tested.purge({ failedBeforeMs: nowMs + 1 })
    expect((await tested.regulation(id)).streams).toEqual([
      stream('website', 'crm', { pending: 1, failed: 1, expired: 1 }),
    ])
  })

  test('still counts after it is purged, if its regulation finished before', async () => {
    const id = await create(tested, 'u_1', 'u_2')
    const [first, second] = await tested.claim('crm')
    await tested.settle(delivered(first!), ended('failed', second!))
    await tested.erase(id)
    expect(await tested.all.regulations.finish({ id, nowMs: nowMs + 7 })).toBe(true)
    await tested.purge({ deliveredBeforeMs: nowMs + 1, failedBeforeMs: nowMs + 1 })
    expect(await tested.regulation(id)).toMatchObject({
      finishedAtMs: nowMs + 7,
      streams: [stream('website', 'crm', { delivered: 1, failed: 1 })],
    })
    expect(await tested.all.regulations.finish({ id, nowMs: nowMs + 9 })).toBe(false)
    expect((await tested.regulation(id)).finishedAtMs).toBe(nowMs + 7)
  })
}
