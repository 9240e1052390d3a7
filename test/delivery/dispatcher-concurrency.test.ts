import { describe, expect, test } from 'vitest'
import { defaultRetryPolicy, type DispatchTarget } from '../../src/delivery/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { startMs } from '../support/recording-runtime.ts'
import {
  dispatching,
  eventsTo,
  HookedStore,
  isSettled,
  quiet,
  ScriptedSender,
  target,
  type DispatchingOptions,
} from './dispatching.ts'
import { answered } from './samples.ts'

/** Makes a sender whose requests wait until `end` answers them. */
function heldSender() {
  const waiting: ((status: number) => void)[] = []
  const sender = new ScriptedSender(async () => {
    const status = await new Promise<number>((resolve) => waiting.push(resolve))
    return answered(status)
  })
  return {
    sender,
    /** Answers the oldest requests. */
    end: async (count: number, status = 200) => {
      for (const answer of waiting.splice(0, count)) answer(status)
      await quiet()
    },
  }
}

/** Creates a dispatcher for one destination, whose requests wait and whose share can be set. */
function start(concurrency = 4, options: DispatchingOptions = {}) {
  const clock = new ManualClock(startMs)
  const held = heldSender()
  const share = (own?: number): DispatchTarget => ({
    ...target('crm', held.sender, concurrency),
    ...(own === undefined ? {} : { concurrency: own }),
  })
  const started = dispatching([share()], clock, options)
  return {
    ...started,
    ...held,
    clock,
    /** Sets the share, without waiting for requests in flight. */
    share: async (own: number) => {
      void started.dispatcher.reconfigure([share(own)])
      await quiet()
    },
  }
}

describe('a destination whose concurrency changes', () => {
  test('starts nothing until fewer requests are in flight than allowed, and then no more than allowed', async () => {
    const { dispatcher, sender, share, end } = start(4)
    await dispatcher.add(eventsTo('crm', 20))
    await quiet()
    expect(sender.inFlight).toBe(4)
    await share(2)
    expect(sender.inFlight).toBe(4)
    await end(2)
    expect(sender).toMatchObject({ inFlight: 2, bodies: { length: 4 } })
    await end(1)
    expect(sender).toMatchObject({ inFlight: 2, bodies: { length: 5 } })
  })

  test('starts more at once, and still counts those in flight', async () => {
    const { dispatcher, sender, share } = start(2)
    await dispatcher.add(eventsTo('crm', 20))
    await quiet()
    await share(3)
    expect(sender.inFlight).toBe(3)
    await share(5)
    expect(sender).toMatchObject({ inFlight: 5, bodies: { length: 5 } })
  })

  test('keeps its breaker, and still counts the requests in flight for it', async () => {
    const { dispatcher, sender, share, end, endpoints, add } = start(10)
    await dispatcher.add(eventsTo('crm', 10))
    await quiet()
    await end(5, 503)
    await share(3)
    await end(5, 503)
    expect(endpoints).toMatchObject([{ state: 'open' }])
    await share(8)
    await add('crm')
    dispatcher.wake()
    await quiet()
    expect(sender.bodies).toHaveLength(10)
    expect(endpoints).toHaveLength(1)
  })
})

describe('a destination with a share of 0', () => {
  test('returns ready deliveries and claims none, so that other processes can send them', async () => {
    const { dispatcher, store, sender, share, end } = start(2)
    await dispatcher.add(eventsTo('crm', 5))
    await quiet()
    await share(0)
    await end(2)
    const claims = store.counts.claim
    await dispatcher.add(eventsTo('crm', 3, 'later'))
    dispatcher.wake()
    await quiet()
    expect(store.counts.claim).toBe(claims)
    expect(sender.bodies).toHaveLength(2)
    const others = { destinationId: 'crm', lane: 'first' as const, dueByMs: startMs }
    const request = { nowMs: startMs, shares: [{ ...others, deliveriesMax: 10 }] }
    expect(await store.claim(request)).toHaveLength(6)
  })

  test('returns the deliveries of a claim that was in progress', async () => {
    const store = new HookedStore()
    const { share, dispatcher, add, sender } = start(2, { store })
    let release = (): void => undefined
    const claimed = new Promise<void>((resolve) => (release = resolve))
    store.after = (step) => (step === 'claim' ? claimed : Promise.resolve())
    await add('crm', 3)
    dispatcher.wake()
    await quiet()
    await share(0)
    release()
    await quiet()
    expect(sender.bodies).toEqual([])
    const others = { destinationId: 'crm', lane: 'first' as const, dueByMs: startMs }
    const request = { nowMs: startMs, shares: [{ ...others, deliveriesMax: 10 }] }
    expect(await store.claim(request)).toHaveLength(3)
  })

  test('causes no calls to the store while it waits', async () => {
    const { dispatcher, store, share } = start(2)
    await share(0)
    await dispatcher.add(eventsTo('crm', 5))
    void dispatcher.idle()
    await quiet()
    const before = { ...store.counts }
    await quiet()
    await quiet()
    expect(store.counts).toEqual(before)
  })

  test('continues with the waiting deliveries once its share is larger', async () => {
    const { dispatcher, sender, share, store, end } = start(2)
    await share(0)
    await dispatcher.add(eventsTo('crm', 2))
    await quiet()
    await share(1)
    await end(1)
    await end(1)
    expect(sender.inFlightMax).toBe(1)
    expect(await store.ledger()).toMatchObject({ delivered: 2 })
  })

  test('keeps idle waiting until other processes have sent its deliveries', async () => {
    const { dispatcher, store, share } = start(2)
    await share(0)
    await dispatcher.add(eventsTo('crm', 1))
    const idle = dispatcher.idle()
    expect(await isSettled(idle)).toBe(false)
    const shares = [
      { destinationId: 'crm', lane: 'first' as const, dueByMs: startMs, deliveriesMax: 10 },
    ]
    const claimed = await store.claim({ nowMs: startMs, shares })
    const settlements = claimed.map((delivery) => ({
      kind: 'delivered' as const,
      delivery,
      attempts: 1,
    }))
    await store.settle({ nowMs: startMs, settlements, requests: [] })
    dispatcher.wake()
    expect(await isSettled(idle)).toBe(true)
  })

  test('keeps idle waiting no longer than an endpoint that is down, with keepsParked', async () => {
    const { dispatcher, share, clock } = start(2, { keepsParked: true })
    await share(0)
    await dispatcher.add(eventsTo('crm', 1))
    const idle = dispatcher.idle()
    await clock.advance(defaultRetryPolicy.windowMs)
    dispatcher.wake()
    expect(await isSettled(idle)).toBe(false)
    await clock.advance(1)
    dispatcher.wake()
    expect(await isSettled(idle)).toBe(true)
  })
})

test('a dispatcher starts nothing while maySend returns false, and then continues', async () => {
  const state = { maySend: true }
  const { dispatcher, sender, share, end } = start(1, { maySend: () => state.maySend })
  await dispatcher.add(eventsTo('crm', 3))
  await quiet()
  state.maySend = false
  await end(1)
  expect(sender.bodies).toHaveLength(1)
  state.maySend = true
  await share(1)
  expect(sender.bodies).toHaveLength(2)
})
