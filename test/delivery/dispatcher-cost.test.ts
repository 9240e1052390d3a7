import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { DestinationQueue } from '../../src/delivery/destination-queue.ts'
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

/** A store that records the destinations of its look-ups. */
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
  ])('does not grow with the destinations, for events $name', async ({ add }) => {
    const few = await readsPerRequest(0, add)
    const many = await readsPerRequest(500, add)
    expect(many - few).toBeLessThan(1)
  })
})

describe('a destination that nothing is done for', () => {
  /** Notes whose queues are asked what the dispatcher asks turn by turn. */
  function watchQueues(): () => ReadonlySet<string> {
    const asked = ['next', 'room', 'giveBackIdle', 'parkedUntilMs', 'isUndeliverable'] as const
    const { prototype } = DestinationQueue
    const isEmpty = vi.spyOn(prototype, 'isEmpty', 'get')
    const spies = [isEmpty, ...asked.map((method) => vi.spyOn(prototype, method))]
    onTestFinished(() => spies.forEach((spy) => spy.mockRestore()))
    return () => {
      const queues = spies.flatMap(({ mock }) => mock.contexts) as DestinationQueue[]
      return new Set(queues.map(({ destination }) => destination.id))
    }
  }

  /** Destinations that fail, so that a retry waits for them, and those that are never sent to. */
  function mixed(store = new HookedStore()) {
    const clock = new ManualClock(startMs)
    const well = target('well', new ScriptedSender(() => answered(200)))
    const ill = target('ill', new ScriptedSender(() => answered(503)))
    return { ...dispatching([well, ill, ...idleTargets(20)], clock, { store }), clock }
  }

  test('is not looked at while others are added to, retried and claimed for', async () => {
    const { dispatcher, add, clock } = mixed()
    await dispatcher.idle()
    const looked = watchQueues()
    await dispatcher.add([...eventsTo('well', 100, 'w'), ...eventsTo('ill', 3, 'i')])
    await clock.advance(10_000)
    await add('well', 50)
    dispatcher.wake()
    await quiet()
    expect(looked()).toEqual(new Set(['well', 'ill']))
  })

  test('is not looked at any more once all that it had is settled', async () => {
    const { dispatcher } = mixed()
    await dispatcher.add(eventsTo('idle0', 100, 'early'))
    await dispatcher.idle()
    const looked = watchQueues()
    await dispatcher.add(eventsTo('well', 100))
    await quiet()
    expect(looked()).toEqual(new Set(['well']))
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
