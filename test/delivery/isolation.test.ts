import { describe, expect, test } from 'vitest'
import type { DeliveryStore } from '../../src/delivery/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import type { RequestOutcome } from '../../src/webhook/index.ts'
import { startMs } from '../support/recording-runtime.ts'
import { dispatching, eventTo, HookedStore, quiet, ScriptedSender, target } from './dispatching.ts'
import { answered } from './samples.ts'

const destinations = 50
const badOnes = 10
const eventsEach = 150
const concurrency = 10
const healthyEvents = (destinations - badOnes) * eventsEach
const minuteMs = 60_000

/** A store that keeps almost no ended deliveries. */
class SmallStore extends HookedStore {
  constructor() {
    super({ endedMax: 1 })
  }
}

/** Creates a dispatcher with fifty destinations. Every fifth one hangs for five seconds on every request. */
function openDispatcher(options: { readonly requestsMax?: number } = {}) {
  const clock = new ManualClock(startMs)
  const hang = (): Promise<RequestOutcome> =>
    new Promise((resolve) => clock.schedule(5_000, () => resolve({ kind: 'timeout' })))
  const all = Array.from({ length: destinations }, (_, index) => {
    const isBad = index % (destinations / badOnes) === 0
    const sender = new ScriptedSender(isBad ? hang : () => answered(200))
    return { id: `d${index}`, isBad, sender }
  })
  const targets = all.map(({ id, sender }) => target(id, sender, concurrency))
  const store = new SmallStore()
  const dispatchers = dispatching(targets, clock, { store, ...options })
  return { ...dispatchers, clock, all, bad: all.filter(({ isBad }) => isBad) }
}

type Opened = ReturnType<typeof openDispatcher>

/** Adds the events in batches, spread evenly over the destinations. */
async function addAll({ all, dispatcher }: Opened): Promise<void> {
  for (let number = 0; number < eventsEach; number += 10) {
    const events = Array.from({ length: 10 }, (_, index) =>
      all.map(({ id }) => eventTo(id, `${id}_${number + index}`)),
    )
    await dispatcher.add(events.flat())
  }
}

/** Waits until nothing more is delivered without the clock. */
async function settleAll(store: DeliveryStore): Promise<void> {
  let before = -1
  for (let { delivered } = await store.ledger(); delivered > before;) {
    before = delivered
    await quiet()
    delivered = (await store.ledger()).delivered
  }
}

async function expectBalance(store: DeliveryStore): Promise<void> {
  const { ledger, counted, purged } = await store.audit()
  const { delivered, failed, expired, pending, deliveries } = ledger
  expect(deliveries).toBe(destinations * eventsEach)
  expect(delivered + failed + expired + pending).toBe(deliveries)
  expect(counted.pending).toBe(pending)
  expect(counted.delivered + purged.delivered).toBe(delivered)
}

describe('ten destinations of fifty that hang', () => {
  test('do not delay the others, which are done before any time passes', async () => {
    const one = openDispatcher()
    await addAll(one)
    await settleAll(one.store)
    expect(one.clock.nowMs()).toBe(startMs)
    for (const { isBad, sender } of one.all) {
      expect(sender.bodies).toHaveLength(isBad ? concurrency : eventsEach)
    }
    expect(await one.store.ledger()).toMatchObject({
      delivered: healthyEvents,
      pending: badOnes * eventsEach,
    })
    await expectBalance(one.store)
  })

  test('get no more requests than their breakers allow, and lose nothing', async () => {
    const one = openDispatcher()
    await addAll(one)
    await one.clock.advance(20 * minuteMs)
    for (const { id, sender } of one.bad) {
      expect(sender.inFlightMax).toBe(concurrency)
      const opened = one.endpoints.filter((change) => change.destinationId === id)
      expect(opened.every(({ state }) => state === 'open')).toBe(true)
      // Ten failures open it, with up to nine more in flight by then. After that, one per open time.
      const [probes, first] = [opened.length - 1, 10 + concurrency - 1]
      expect(probes).toBeGreaterThanOrEqual(4)
      expect(probes).toBeLessThanOrEqual(7)
      expect(sender.bodies.length).toBeLessThanOrEqual(first + probes)
    }
    expect(await one.store.ledger()).toMatchObject({
      delivered: healthyEvents,
      pending: badOnes * eventsEach,
    })
    await expectBalance(one.store)
  })

  test('get their deliveries once they answer again', async () => {
    const one = openDispatcher()
    await addAll(one)
    await one.clock.advance(minuteMs)
    for (const { sender } of one.bad) sender.answer = () => answered(200)
    await one.clock.advance(10 * minuteMs)
    await settleAll(one.store)
    expect(await one.store.ledger()).toMatchObject({
      delivered: destinations * eventsEach,
      pending: 0,
    })
    await expectBalance(one.store)
  })
})

describe('ten hanging destinations that could fill the common maximum of requests alone', () => {
  const requestsMax = 64

  test('delay the others only until their breakers open', async () => {
    const one = openDispatcher({ requestsMax })
    await addAll(one)
    let inFlightMax = 0
    const countInFlight = (): void => {
      const inFlight = one.all.reduce((sum, { sender }) => sum + sender.inFlight, 0)
      inFlightMax = Math.max(inFlightMax, inFlight)
    }
    await settleAll(one.store)
    countInFlight()
    expect(requestsMax).toBeLessThan(badOnes * concurrency)
    // Two rounds of hanging requests are more than ten failures for each.
    for (let second = 0; second < 15; second++) {
      await one.clock.advance(1_000)
      countInFlight()
    }
    await settleAll(one.store)
    expect(await one.store.ledger()).toMatchObject({ delivered: healthyEvents })
    expect(inFlightMax).toBe(requestsMax)
    for (const { sender } of one.bad) {
      expect(sender.inFlightMax).toBeLessThanOrEqual(concurrency)
      expect(sender.bodies.length).toBeLessThanOrEqual(10 + concurrency - 1)
    }
    await expectBalance(one.store)
  })

  test('do not delay new events of the others while their breakers are open', async () => {
    const one = openDispatcher({ requestsMax })
    await addAll(one)
    await one.clock.advance(20_000)
    const healthy = one.all.filter(({ isBad }) => !isBad)
    const before = one.clock.nowMs()
    for (let number = 0; number < 50; number++) {
      await one.dispatcher.add(healthy.map(({ id }) => eventTo(id, `${id}_fresh${number}`)))
    }
    await settleAll(one.store)
    expect(one.clock.nowMs()).toBe(before)
    for (const { sender } of healthy) expect(sender.bodies).toHaveLength(eventsEach + 50)
  })
})
