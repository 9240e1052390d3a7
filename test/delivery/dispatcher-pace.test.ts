import { describe, expect, test } from 'vitest'
import { ManualClock, sleep } from '../../src/runtime/index.ts'
import { startMs } from '../support/recording-runtime.ts'
import {
  claimAll,
  dispatching,
  eventsTo,
  type HookedStore,
  quiet,
  ScriptedSender,
  target,
} from './dispatching.ts'
import { windowLimit, type EndpointModel } from './pace-simulation.ts'
import { answered } from './samples.ts'
import { checkDestination } from '../../src/webhook/index.ts'

const hourMs = 60 * 60 * 1_000

/** Creates a dispatcher with one endpoint, which follows a model and answers after 10 ms. */
function limited(model: EndpointModel) {
  const clock = new ManualClock(startMs)
  const state = { model }
  const sender = new ScriptedSender(async () => {
    const outcome = state.model(clock.nowMs())
    await sleep(clock, 10)
    return outcome
  })
  return { ...dispatching([target('crm', sender)], clock), clock, sender, state }
}

/** Leases all remaining deliveries, and returns their number. */
async function countUnleased(store: HookedStore, clock: ManualClock): Promise<number> {
  const share = { destinationId: 'crm', dueByMs: clock.nowMs() }
  const first = await claimAll(store, { ...share, lane: 'first' })
  const retry = await claimAll(store, { ...share, lane: 'retry' })
  return first.length + retry.length
}

describe('an endpoint that accepts 50/s and answers the rest with 429', () => {
  test('gets a whole burst in time, and never opens its breaker', async () => {
    const { dispatcher, store, clock, requests, endpoints } = limited(windowLimit(50, '1'))
    await dispatcher.add(eventsTo('crm', 1_000))
    await clock.advance(30_000)
    expect(await store.ledger()).toMatchObject({ delivered: 1_000 })
    const refused = requests.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThan(0)
    expect(refused.length).toBeLessThan(60)
    expect(endpoints).toEqual([])
  })

  test('gets a refused delivery again soon, without advancing the schedule', async () => {
    const { dispatcher, clock, requests } = limited(windowLimit(50, '1'))
    await dispatcher.add(eventsTo('crm', 200))
    await clock.advance(15_000)
    const refused = requests.filter(({ status }) => status === 429)
    for (const { messageId, atMs } of refused) {
      const again = requests.find((one) => one.messageId === messageId && one.atMs > atMs)
      expect(again!.atMs - atMs).toBeGreaterThanOrEqual(1_000)
      expect(again!.atMs - atMs).toBeLessThan(8_000)
    }
  })

  test('has no more deliveries leased than its pace allows in two seconds', async () => {
    const { dispatcher, store, clock } = limited(windowLimit(2, '1'))
    await dispatcher.add(eventsTo('crm', 200))
    await clock.advance(30_000)
    const { delivered, pending } = await store.ledger()
    expect(delivered).toBeGreaterThan(25)
    expect(pending - (await countUnleased(store, clock))).toBeLessThanOrEqual(2 * 2 + 1)
  })
})

describe('a rate', () => {
  /** Creates a dispatcher with one endpoint per rate, which all answer 200. */
  function rated(...rates: readonly string[]) {
    const clock = new ManualClock(startMs)
    const sender = new ScriptedSender(() => answered(200))
    const endpoints = rates.map((rate, index) => ({ url: `https://example.com/${index}`, rate }))
    const destination = checkDestination({ id: 'crm', sourceIds: ['website'], endpoints })
    return { ...dispatching([{ destination, sender }], clock), clock, sender, destination }
  }

  test('spaces requests, claims for only a second ahead, and uses up no attempt', async () => {
    const { dispatcher, store, clock, sender, requests } = rated('2/s')
    await dispatcher.add(eventsTo('crm', 100))
    await clock.advance(10_000)
    expect(sender.bodies).toHaveLength(21)
    const gapsMs = requests.slice(1).map(({ atMs }, index) => atMs - requests[index]!.atMs)
    expect(Math.min(...gapsMs)).toBeGreaterThanOrEqual(499)
    expect(requests.every(({ attempt }) => attempt === 1)).toBe(true)
    const { pending } = await store.ledger()
    expect(pending - (await countUnleased(store, clock))).toBeLessThanOrEqual(2)
  })

  test('begins no retry window, so a delivery that waits for hours is delivered', async () => {
    const { dispatcher, clock, store } = rated('1/h')
    await dispatcher.add(eventsTo('crm', 10))
    await clock.advance(10 * hourMs)
    expect(await store.ledger()).toMatchObject({ delivered: 10, expired: 0, failed: 0 })
  })

  test('of one of two endpoints applies to both, because each event goes to both', async () => {
    const { dispatcher, clock, requests } = rated('100/s', '10/m')
    await dispatcher.add(eventsTo('crm', 5))
    await clock.advance(30_000)
    const urls = requests.map(({ url }) => url)
    expect(urls.filter((url) => url.endsWith('/0'))).toHaveLength(5)
    expect(urls.filter((url) => url.endsWith('/1'))).toHaveLength(5)
  })

  test('is shared, and a process uses only its share', async () => {
    const { dispatcher, clock, sender, destination } = rated('10/s')
    await dispatcher.reconfigure([{ destination, sender, rateShare: 0.5 }])
    await dispatcher.add(eventsTo('crm', 100))
    await clock.advance(10_000)
    expect(sender.bodies).toHaveLength(51)
  })
})

describe('Retry-After', () => {
  test('holds the whole endpoint, and nothing is sent or claimed meanwhile', async () => {
    const { dispatcher, store, clock, sender } = limited(() => answered(429, '600'))
    await dispatcher.add(eventsTo('crm', 100))
    await clock.advance(1_000)
    await quiet()
    const sent = sender.bodies.length
    expect(sent).toBeLessThanOrEqual(10)
    const counts = { ...store.counts }
    await clock.advance(598_000)
    expect(sender.bodies).toHaveLength(sent)
    expect(store.counts).toEqual(counts)
    await clock.advance(2_000)
    expect(await countUnleased(store, clock)).toBe(100)
  })

  test('of a day counts as an hour, and expires nothing after the first attempt', async () => {
    const { dispatcher, store, clock, state } = limited(() => answered(429, '86400'))
    await dispatcher.add(eventsTo('crm', 20))
    await clock.advance(0.8 * hourMs)
    expect(await store.ledger()).toMatchObject({ pending: 20, expired: 0 })
    state.model = () => answered(200)
    await clock.advance(0.2 * hourMs + 10_000)
    expect(await store.ledger()).toMatchObject({ delivered: 20, pending: 0 })
  })

  test('of a day does not keep a delivery beyond its window', async () => {
    const { dispatcher, store, clock, settled } = limited(() => answered(429, '86400'))
    await dispatcher.add(eventsTo('crm', 1))
    await clock.advance(5 * hourMs)
    expect(await store.ledger()).toMatchObject({ expired: 1, pending: 0 })
    expect(settled).toMatchObject([{ state: 'expired', reason: 'status_429' }])
  })
})
