import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/runtime/index.ts'
import type { RequestOutcome } from '../../src/webhook/index.ts'
import { gate, type Gate } from '../support/gate.ts'
import { startMs } from '../support/recording-runtime.ts'
import { dispatching, eventsTo, HookedStore, quiet, ScriptedSender, target } from './dispatching.ts'
import { answered } from './samples.ts'

/** Makes a sender whose requests wait until `end` answers them. */
function steppedSender(): ScriptedSender & { readonly end: (count?: number) => Promise<void> } {
  const gates: Gate[] = []
  const sender = new ScriptedSender(async () => {
    const one = gate()
    gates.push(one)
    await one.opened
    return answered(200)
  })
  const end = async (count = 1): Promise<void> => {
    for (const { open } of gates.splice(0, count)) open()
    await quiet()
  }
  return Object.assign(sender, { end })
}

describe('lanes', () => {
  /** Creates a dispatcher with 200 retries that are due. */
  async function withRetriesDue(concurrency: number) {
    const clock = new ManualClock(startMs)
    let answer = (): RequestOutcome | Promise<RequestOutcome> => answered(503)
    const sender = new ScriptedSender(() => answer())
    const { dispatcher, store, add, requests } = dispatching(
      [target('crm', sender, concurrency)],
      clock,
    )
    await add('crm', 200)
    const seen = await store.claim({
      nowMs: startMs,
      shares: [{ destinationId: 'crm', lane: 'first', dueByMs: startMs, deliveriesMax: 200 }],
    })
    const progress = { attempts: 1, windowAttempts: 1, firstAttemptAtMs: startMs, holds: [] }
    const settlements = seen.map((delivery) => ({
      kind: 'retry' as const,
      delivery,
      dueAtMs: startMs,
      expiresAtMs: startMs + 1,
      reason: 'status_503',
      progress,
    }))
    await store.settle({ nowMs: startMs, settlements, requests: [] })
    const steps = steppedSender()
    answer = () =>
      steps.post({ url: '', headers: {} }, { body: '', messageId: '' }).then(() => answered(200))
    return { dispatcher, store, requests, sender, steps, clock }
  }

  test.each([
    { concurrency: 1, retriesAtOnce: 1 },
    { concurrency: 2, retriesAtOnce: 1 },
    { concurrency: 10, retriesAtOnce: 8 },
  ])(
    'due retries leave slots to first tries, which go before them ($concurrency)',
    async ({ concurrency, retriesAtOnce }) => {
      const { dispatcher, requests, sender, steps } = await withRetriesDue(concurrency)
      dispatcher.wake()
      await quiet()
      expect(sender.inFlight).toBe(retriesAtOnce)
      await dispatcher.add(eventsTo('crm', 40))
      for (let step = 0; step < 100; step++) await steps.end()
      const lanes = requests.slice(retriesAtOnce, 40).map(({ lane }) => lane)
      const firsts = lanes.filter((lane) => lane === 'first').length
      expect(firsts).toBeGreaterThanOrEqual(Math.floor(lanes.length * 0.7))
      expect(lanes.filter((lane) => lane === 'retry').length).toBeGreaterThanOrEqual(4)
      const stopped = dispatcher.stop()
      await steps.end(1_000)
      await stopped
    },
  )

  test.each([1, 2, 10])(
    'a steady flow of first tries leaves turns to retries (%i)',
    async (concurrency) => {
      const { dispatcher, requests, steps } = await withRetriesDue(concurrency)
      await dispatcher.add(eventsTo('crm', 30, 'before'))
      for (let step = 0; step < 50; step++) {
        await dispatcher.add(eventsTo('crm', 4, `more${step}`))
        await steps.end(4)
      }
      const retries = requests.filter(({ lane }) => lane === 'retry').length
      expect(requests.length).toBeGreaterThanOrEqual(Math.min(200, 50 * concurrency) - 10)
      expect(retries).toBeGreaterThanOrEqual(Math.floor(requests.length / 5) - 2)
      expect(retries).toBeLessThanOrEqual(Math.ceil(requests.length / 5) + concurrency)
      const stopped = dispatcher.stop()
      await steps.end(1_000)
      await stopped
    },
  )
})

describe('the common maximum of requests', () => {
  test('applies whatever the concurrency of each destination', async () => {
    const senders = ['a', 'b', 'c'].map((id) => ({ id, sender: steppedSender() }))
    const { dispatcher } = dispatching(
      senders.map(({ id, sender }) => target(id, sender)),
      new ManualClock(startMs),
      { requestsMax: 7 },
    )
    for (const { id } of senders) await dispatcher.add(eventsTo(id, 30, id))
    let requestsMax = 0
    for (let step = 0; step < 40; step++) {
      await quiet()
      const inFlight = senders.reduce((sum, { sender }) => sum + sender.inFlight, 0)
      requestsMax = Math.max(requestsMax, inFlight)
      for (const { sender } of senders) await sender.end(3)
    }
    expect(requestsMax).toBe(7)
    expect(senders.map(({ sender }) => sender.bodies.length)).toEqual([30, 30, 30])
  })

  test.each([1, 2])(
    'is shared in turns, even if one destination used all of it first (%i end at once)',
    async (count) => {
      const [first, second, third] = [steppedSender(), steppedSender(), steppedSender()]
      const targets = [target('a', first), target('b', second), target('c', third)]
      const { dispatcher } = dispatching(targets, new ManualClock(startMs), { requestsMax: 2 })
      await dispatcher.add(eventsTo('a', 200, 'a'))
      await quiet()
      expect(first.inFlight).toBe(2)
      await dispatcher.add(eventsTo('b', 200, 'b'))
      await dispatcher.add(eventsTo('c', 200, 'c'))
      for (let step = 0; step < 60; step++) {
        for (const sender of [first, second, third]) {
          const ended = sender.end(count)
          // Deliveries that are added at that moment must wait for their turn too.
          await dispatcher.add(eventsTo('a', 1, `a${step}`))
          await ended
        }
      }
      const counts = [first, second, third].map(({ bodies }) => bodies.length)
      // The difference is what was leased before the others were added.
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(6)
      const stopped = dispatcher.stop()
      for (const sender of [first, second, third]) await sender.end(1_000)
      await stopped
    },
  )

  test('needs no turns any more once it is not reached', async () => {
    const [first, second] = [steppedSender(), new ScriptedSender(() => answered(200))]
    const targets = [target('a', first), target('b', second)]
    const clock = new ManualClock(startMs)
    const { dispatcher, store, add } = dispatching(targets, clock, { requestsMax: 2 })
    await dispatcher.add(eventsTo('a', 20, 'a'))
    await quiet()
    for (let step = 0; step < 20; step++) await first.end()
    await dispatcher.idle()
    // A claim is held up, which must not matter.
    const { opened, open } = gate()
    store.before = (step) => (step === 'claim' ? opened : Promise.resolve())
    await add('a')
    dispatcher.wake()
    await quiet()
    await dispatcher.add(eventsTo('b', 1))
    expect(second.bodies).toEqual(['e_1'])
    open()
    await quiet()
    await first.end()
    await dispatcher.idle()
  })

  test('is used fully as long as anything waits', async () => {
    const senders = [steppedSender(), steppedSender()] as const
    const targets = [target('a', senders[0]), target('b', senders[1])]
    const { dispatcher, store } = dispatching(targets, new ManualClock(startMs), { requestsMax: 6 })
    await dispatcher.add(eventsTo('a', 60, 'a'))
    await dispatcher.add(eventsTo('b', 60, 'b'))
    await quiet()
    for (let step = 0; step < 100; step++) {
      expect(senders[0].inFlight + senders[1].inFlight).toBe(6)
      await senders[step % 2]?.end()
      if (senders[step % 2]?.inFlight === 0) await senders[(step + 1) % 2]?.end()
    }
    const stopped = dispatcher.stop()
    for (const sender of senders) await sender.end(1_000)
    await stopped
    expect(await store.ledger()).toMatchObject({ deliveries: 120 })
  })
})

describe('the results of rounds', () => {
  test('are settled in batches, each with all rounds that ended while the previous batch was being written', async () => {
    const store = new HookedStore()
    const sender = steppedSender()
    const { dispatcher } = dispatching([target('crm', sender)], new ManualClock(startMs), { store })
    await dispatcher.add(eventsTo('crm', 30))
    await quiet()
    const { opened, open } = gate()
    store.before = (step) => (step === 'settle' ? opened : Promise.resolve())
    await sender.end(1)
    expect(store.counts.settle).toBe(1)
    for (let step = 0; step < 20; step++) await sender.end(1)
    expect(store.counts.settle).toBe(1)
    open()
    await quiet()
    expect(store.counts.settle).toBe(2)
    expect(await store.ledger()).toMatchObject({ delivered: 21, pending: 9 })
    const stopped = dispatcher.stop()
    await sender.end(100)
    await stopped
  })

  test('that are not written yet hold back new requests, so that they never pile up', async () => {
    const store = new HookedStore()
    const sender = new ScriptedSender(() => answered(200))
    const { dispatcher, add } = dispatching([target('crm', sender)], new ManualClock(startMs), {
      store,
      requestsMax: 20,
    })
    await add('crm', 200)
    const { opened, open } = gate()
    store.before = (step) => (step === 'settle' ? opened : Promise.resolve())
    const idle = dispatcher.idle()
    for (let wait = 0; wait < 10; wait++) await quiet()
    expect(sender.bodies.length).toBeLessThanOrEqual(20 + 10)
    open()
    await idle
    expect(sender.bodies).toHaveLength(200)
    expect(await store.ledger()).toMatchObject({ delivered: 200 })
  })
})

test('two dispatchers deliver from one store, each to half of the destinations', async () => {
  const ids = Array.from({ length: 6 }, (_, index) => `d${index}`)
  const senders = new Map(ids.map((id) => [id, new ScriptedSender(() => answered(200))]))
  const half = (rest: number) =>
    ids.filter((_, index) => index % 2 === rest).map((id) => target(id, senders.get(id)!))
  const store = new HookedStore()
  const clock = new ManualClock(startMs)
  const even = dispatching(half(0), clock, { store })
  const odd = dispatching(half(1), clock, { store })
  // Each accepts events for all destinations, its own and those of the other.
  const adds = ids.flatMap((id) => [
    even.dispatcher.add(eventsTo(id, 100, `even_${id}`)),
    odd.dispatcher.add(eventsTo(id, 100, `odd_${id}`)),
  ])
  await Promise.all(adds)
  await Promise.all([even.dispatcher.idle(), odd.dispatcher.idle()])
  for (const sender of senders.values()) expect(new Set(sender.bodies).size).toBe(200)
  for (const sender of senders.values()) expect(sender.bodies).toHaveLength(200)
  expect(await store.ledger()).toMatchObject({ delivered: 1_200, pending: 0 })
})
