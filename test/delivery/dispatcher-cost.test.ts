import { describe, expect, test } from 'vitest'
import { ManualClock, type Clock } from '../../src/runtime/index.ts'
import { startMs } from '../support/recording-runtime.ts'
import {
  dispatching,
  eventsTo,
  HookedStore,
  quiet,
  ScriptedSender,
  target,
  type Dispatching,
} from './dispatching.ts'
import { answered } from './samples.ts'

/** That many destinations that nothing is sent to, beside the one that is looked at. */
function idleTargets(count: number) {
  const sender = new ScriptedSender(() => answered(200))
  return Array.from({ length: count }, (_, index) => target(`idle${index}`, sender))
}

/** A store that notes which destinations it is asked about. */
class AskedStore extends HookedStore {
  readonly asked: (readonly string[])[] = []

  override nextDue(request: Parameters<HookedStore['nextDue']>[0]) {
    this.asked.push(request.destinationIds)
    return super.nextDue(request)
  }
}

describe('the cost of a request', () => {
  /** Every look at a destination reads the clock: so often per request. */
  async function readsPerRequest(
    destinations: number,
    add: (all: Dispatching) => Promise<void>,
  ): Promise<number> {
    let reads = 0
    const clock = new ManualClock(startMs)
    const counting: Clock = {
      nowMs: () => {
        reads++
        return clock.nowMs()
      },
      schedule: (delayMs, task) => clock.schedule(delayMs, task),
      hold: () => clock.hold(),
    }
    // An event loop turn passes with every request, as it does over a network.
    const sender = new ScriptedSender(
      () => new Promise((resolve) => setImmediate(() => resolve(answered(200)))),
    )
    const targets = [target('crm', sender), ...idleTargets(destinations)]
    const all = dispatching(targets, counting)
    await all.dispatcher.idle()
    reads = 0
    await add(all)
    await all.dispatcher.idle()
    return reads / 1_000
  }

  test.each([
    { name: 'that waited', add: ({ add }: Dispatching) => add('crm', 1_000) },
    {
      name: 'that come one by one',
      add: async ({ dispatcher }: Dispatching) => {
        for (const event of eventsTo('crm', 1_000)) await dispatcher.add([event])
      },
    },
  ])('hardly grows with the destinations, for events $name', async ({ add }) => {
    const few = await readsPerRequest(0, add)
    const many = await readsPerRequest(500, add)
    expect(many - few).toBeLessThan(200)
  })
})

describe('the store', () => {
  test('is asked only about the destination whose retry came to its time', async () => {
    const clock = new ManualClock(startMs)
    const store = new AskedStore()
    const sender = new ScriptedSender((count) => answered(count <= 3 ? 503 : 200))
    const targets = [target('crm', sender), ...idleTargets(20)]
    const { dispatcher } = dispatching(targets, clock, { store })
    dispatcher.wake()
    await quiet()
    expect(store.asked).toHaveLength(1)
    store.asked.length = 0
    await dispatcher.add(eventsTo('crm', 3))
    await clock.advance(10_000)
    expect(await store.ledger()).toMatchObject({ delivered: 3, pending: 0 })
    expect(store.asked).toEqual([['crm']])
    expect(store.counts.claim).toBe(1)
  })

  test('is not asked again by itself when nothing waits', async () => {
    const clock = new ManualClock(startMs)
    const { dispatcher, store } = dispatching(idleTargets(20), clock)
    await dispatcher.idle()
    await clock.advance(24 * 60 * 60 * 1_000)
    expect(store.counts).toEqual({ add: 0, claim: 0, settle: 0, nextDue: 1 })
  })
})
