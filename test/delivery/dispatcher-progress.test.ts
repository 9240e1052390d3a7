import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/runtime/index.ts'
import { gate, type Gate } from '../support/gate.ts'
import { startMs } from '../support/recording-runtime.ts'
import {
  claimAll,
  dispatching,
  eventsTo,
  HookedStore,
  quiet,
  ScriptedSender,
  target,
} from './dispatching.ts'
import { answered } from './samples.ts'

function targetsOf(count: number, sender: ScriptedSender, concurrency = 10) {
  return Array.from({ length: count }, (_, index) => target(`d${index}`, sender, concurrency))
}

describe('claims', () => {
  test('continue although the dispatcher is woken during every look-up', async () => {
    const store = new HookedStore()
    const sender = new ScriptedSender(() => answered(200))
    const { dispatcher, add } = dispatching(targetsOf(3, sender), new ManualClock(startMs), {
      store,
    })
    let isBusy = true
    store.after = (step) => {
      if (step === 'nextDue' && isBusy) dispatcher.wake()
      return Promise.resolve()
    }
    for (const id of ['d0', 'd1', 'd2']) await add(id, 2)
    dispatcher.wake()
    await quiet()
    expect(sender.bodies).toHaveLength(6)
    isBusy = false
    await quiet()
  })

  test('need no look-up after a notification of due deliveries', async () => {
    const store = new HookedStore()
    const sender = new ScriptedSender(() => answered(200))
    const { dispatcher, add } = dispatching(targetsOf(3, sender), new ManualClock(startMs), {
      store,
    })
    await dispatcher.idle()
    const { nextDue } = store.counts
    for (let notification = 0; notification < 10; notification++) {
      await add('d1', 3)
      dispatcher.wake([{ destinationId: 'd1', lane: 'first', dueAtMs: startMs }])
      await quiet()
    }
    expect(sender.bodies).toHaveLength(30)
    expect(store.counts).toMatchObject({ nextDue, claim: 10 })
  })

  test('are made during look-ups of many destinations', async () => {
    const store = new HookedStore()
    const sender = new ScriptedSender(() => answered(200))
    const { dispatcher, add } = dispatching(targetsOf(1_000, sender), new ManualClock(startMs), {
      store,
    })
    await add('d999')
    let lookUps = 0
    const { opened, open } = gate()
    store.before = async (step) => {
      if (step === 'nextDue' && ++lookUps > 1) await opened
    }
    dispatcher.wake([{ destinationId: 'd999', lane: 'first', dueAtMs: startMs }])
    await quiet()
    expect(sender.bodies).toHaveLength(1)
    open()
    await dispatcher.idle()
    expect(lookUps).toBe(6)
  })
})

describe('leased deliveries that have not started', () => {
  /** Creates destinations with 30 deliveries each, and at most 8 requests in flight. `end` ends requests. */
  async function bounded(destinations: number) {
    const gates: Gate[] = []
    const sender = new ScriptedSender(async () => {
      const one = gate()
      gates.push(one)
      await one.opened
      return answered(200)
    })
    const targets = targetsOf(destinations, sender)
    const all = dispatching(targets, new ManualClock(startMs), { requestsMax: 8 })
    for (let index = 0; index < destinations; index++) await all.add(`d${index}`, 30)
    const end = async (count: number): Promise<void> => {
      for (const { open } of gates.splice(0, count)) open()
      await quiet()
    }
    return { ...all, sender, end }
  }

  test('are at most three times the requests in flight, however many destinations have a backlog', async () => {
    const { dispatcher, store, sender, end } = await bounded(20)
    dispatcher.wake()
    await quiet()
    await dispatcher.add(eventsTo('d3', 50))
    await quiet()
    const waiting = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        claimAll(store, { destinationId: `d${index}`, lane: 'first', dueByMs: startMs }),
      ),
    )
    const leased = 20 * 30 + 50 - waiting.flat().length
    expect(sender.inFlight).toBe(8)
    expect(leased).toBeGreaterThanOrEqual(8 + 16)
    expect(leased).toBeLessThanOrEqual(8 + 24)
    const stopped = dispatcher.stop()
    await end(8)
    await stopped
  })

  test('come from each destination in turn', async () => {
    const { dispatcher, sender, end } = await bounded(20)
    dispatcher.wake()
    await quiet()
    for (let step = 0; step < 10; step++) await end(8)
    const counts = new Map<string, number>()
    for (const body of sender.bodies) {
      const destination = Math.floor((Number(body.slice(2)) - 1) / 30)
      counts.set(`d${destination}`, (counts.get(`d${destination}`) ?? 0) + 1)
    }
    expect(counts.size).toBe(20)
    expect(Math.max(...counts.values()) - Math.min(...counts.values())).toBeLessThanOrEqual(2)
    const stopped = dispatcher.stop()
    await end(8)
    await stopped
  })

  test('start as soon as a request ends, even during a claim', async () => {
    const { dispatcher, store, sender, end } = await bounded(6)
    dispatcher.wake()
    await quiet()
    const claims: Gate[] = []
    store.before = async (step) => {
      if (step !== 'claim' && step !== 'nextDue') return
      const one = gate()
      claims.push(one)
      await one.opened
    }
    for (let step = 0; step < 2; step++) {
      await end(8)
      expect(sender.inFlight).toBe(8)
    }
    expect(claims).toHaveLength(1)
    store.before = () => Promise.resolve()
    claims[0]?.open()
    await quiet()
    const stopped = dispatcher.stop()
    await end(8)
    await stopped
  })
})
