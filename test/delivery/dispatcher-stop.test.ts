import { describe, expect, test } from 'vitest'
import { defaultBreakerPolicy } from '../../src/delivery/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { gate } from '../support/gate.ts'
import { startMs } from '../support/recording-runtime.ts'
import {
  claimAll,
  dispatching,
  eventsTo,
  HookedStore,
  isSettled,
  pair,
  quiet,
  ScriptedSender,
  target,
} from './dispatching.ts'
import { answered, urlOf } from './samples.ts'

const untried = { attempts: 0, windowAttempts: 0, firstAttemptAtMs: null, dueAtMs: startMs }
const firstOfCrm = { destinationId: 'crm', lane: 'first', dueByMs: startMs } as const

/** Makes a sender whose endpoint `a` hangs until `open` is called, while `b` accepts everything at once. */
function halfHanging() {
  const { opened, open } = gate()
  const sender = new ScriptedSender(async (_, { url }) => {
    if (url === urlOf('a')) await opened
    return answered(200)
  })
  return { sender, open }
}

describe('a request that hangs after another endpoint accepted the delivery', () => {
  test('does not delay the delivery, but idle waits for it', async () => {
    const { sender, open } = halfHanging()
    const { dispatcher, store, settled, requests } = dispatching([pair(sender)])
    await dispatcher.add(eventsTo('crm', 3))
    const idle = dispatcher.idle()
    expect(await isSettled(idle)).toBe(false)
    expect(settled).toHaveLength(3)
    expect(await store.ledger()).toMatchObject({ delivered: 3, pending: 0 })
    open()
    await idle
    expect(requests).toHaveLength(6)
    const { requests: logged } = (await store.story({ destinationId: 'crm', id: 1 }))!
    expect(logged.map(({ url, outcome }) => [url, outcome])).toEqual([
      [urlOf('b'), 'success'],
      [urlOf('a'), 'success'],
    ])
  })

  test('counts against the concurrency until it ends', async () => {
    const { sender, open } = halfHanging()
    const { dispatcher, store } = dispatching([pair(sender, 2)])
    await dispatcher.add(eventsTo('crm', 10))
    await quiet()
    expect(sender.inFlight).toBe(2)
    expect(await store.ledger()).toMatchObject({ delivered: 2, pending: 8 })
    open()
    await dispatcher.idle()
    expect(sender.inFlightMax).toBeLessThanOrEqual(4)
    expect(await store.ledger()).toMatchObject({ delivered: 10, pending: 0 })
  })

  test('is logged, and stop waits for it', async () => {
    const { sender, open } = halfHanging()
    const { dispatcher, store } = dispatching([pair(sender)])
    await dispatcher.add(eventsTo('crm', 1))
    await quiet()
    const stopped = dispatcher.stop()
    expect(await isSettled(stopped)).toBe(false)
    open()
    await stopped
    expect((await store.story({ destinationId: 'crm', id: 1 }))!.requests).toHaveLength(2)
  })
})

describe('stop returns', () => {
  test('ready deliveries at once, and settles those in flight when they end', async () => {
    const { opened, open } = gate()
    const sender = new ScriptedSender(async (count) => {
      await opened
      return count === 1 ? answered(200) : { kind: 'interrupted' }
    })
    const { dispatcher, store } = dispatching([target('crm', sender, 2)])
    await dispatcher.add(eventsTo('crm', 10))
    await quiet()
    const stopped = dispatcher.stop()
    await quiet()
    // Two are in flight. Other processes can claim all the others.
    expect(await claimAll(store, firstOfCrm)).toHaveLength(8)
    open()
    await stopped
    expect(await store.ledger()).toMatchObject({ delivered: 1, pending: 9 })
    expect(await claimAll(store, firstOfCrm)).toMatchObject([untried])
  })

  test('deliveries that are parked behind an open breaker', async () => {
    const clock = new ManualClock(startMs)
    const sender = new ScriptedSender(() => answered(503))
    const { dispatcher, store } = dispatching([target('crm', sender, 1)], clock)
    await dispatcher.add(eventsTo('crm', 50))
    await quiet()
    expect(sender.bodies).toHaveLength(10)
    await dispatcher.stop()
    const claimed = await claimAll(store, firstOfCrm)
    expect(claimed).toHaveLength(40)
    for (const delivery of claimed) expect(delivery).toMatchObject(untried)
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('deliveries that wait for a probe in progress', async () => {
    const clock = new ManualClock(startMs)
    const sender = new ScriptedSender(() => answered(503))
    const { dispatcher, store } = dispatching([target('crm', sender, 1)], clock)
    await dispatcher.add(eventsTo('crm', 50))
    await quiet()
    const { opened, open } = gate()
    sender.answer = () => opened.then(() => ({ kind: 'interrupted' }))
    await clock.advance(defaultBreakerPolicy.openMs)
    expect(sender.inFlight).toBe(1)
    const stopped = dispatcher.stop()
    open()
    await stopped
    const retries = { ...firstOfCrm, lane: 'retry', dueByMs: Infinity } as const
    expect(await claimAll(store, firstOfCrm)).toHaveLength(40)
    expect(await claimAll(store, retries)).toHaveLength(10)
  })

  test('claimed deliveries to their lanes', async () => {
    const clock = new ManualClock(startMs)
    const sender = new ScriptedSender((count) => answered(count <= 8 ? 404 : 503))
    const { dispatcher, store } = dispatching([target('crm', sender, 4)], clock)
    await dispatcher.add(eventsTo('crm', 8, 'a'))
    await dispatcher.idle()
    await dispatcher.add(eventsTo('crm', 6, 'b'))
    await quiet()
    const { opened, open } = gate()
    sender.answer = () => opened.then(() => ({ kind: 'interrupted' }))
    await store.retry({ nowMs: startMs, filter: { states: ['failed'] }, limit: 8 })
    await dispatcher.add(eventsTo('crm', 7, 'c'))
    await clock.advance(10_000)
    expect(sender.inFlight).toBe(4)
    const stopped = dispatcher.stop()
    open()
    await stopped
    const counts = await Promise.all(
      (['manual', 'first', 'retry'] as const).map(async (lane) => {
        const claimed = await claimAll(store, { ...firstOfCrm, lane, dueByMs: clock.nowMs() })
        return [lane, claimed.length]
      }),
    )
    expect(Object.fromEntries(counts)).toEqual({ manual: 8, first: 7, retry: 6 })
  })
})

test('the next dispatcher delivers the returned deliveries', async () => {
  const store = new HookedStore()
  const clock = new ManualClock(startMs)
  const { opened, open } = gate()
  const slow = new ScriptedSender(() => opened.then(() => answered(200)))
  const before = dispatching([target('crm', slow, 3)], clock, { store })
  await before.dispatcher.add(eventsTo('crm', 40))
  await quiet()
  const stopped = before.dispatcher.stop()
  open()
  await stopped
  const quick = new ScriptedSender(() => answered(200))
  const after = dispatching([target('crm', quick, 3)], clock, { store })
  await after.dispatcher.idle()
  expect([...slow.bodies, ...quick.bodies].toSorted()).toEqual(
    eventsTo('crm', 40)
      .map(({ messageId }) => messageId)
      .toSorted(),
  )
  expect(await store.ledger()).toMatchObject({ delivered: 40, pending: 0 })
})

describe('Retry-After of one endpoint', () => {
  test('does not delay requests to the other, and holds the first one for its time', async () => {
    const clock = new ManualClock(startMs)
    const sender = new ScriptedSender((_, { url }) =>
      url === urlOf('a') ? answered(429, '60') : answered(503),
    )
    const { dispatcher, requests } = dispatching([pair(sender)], clock)
    await dispatcher.add(eventsTo('crm', 1))
    await clock.advance(100_000)
    const requested = requests.map(({ url, atMs }) => [url, atMs - startMs])
    expect(requested).toEqual([
      [urlOf('a'), 0],
      [urlOf('b'), 0],
      [urlOf('b'), 10_000],
      [urlOf('b'), 35_000],
      [urlOf('a'), 97_500],
      [urlOf('b'), 97_500],
    ])
  })
})
