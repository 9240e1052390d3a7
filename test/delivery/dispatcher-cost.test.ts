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
  type DispatchingOptions,
} from './dispatching.ts'
import { answered } from './samples.ts'

/** Makes targets that get no deliveries. */
function idleTargets(count: number) {
  const sender = new ScriptedSender(() => answered(200))
  return Array.from({ length: count }, (_, index) => target(`idle${index}`, sender))
}

/** A store that records the destinations of its look-ups. */
class RecordingStore extends HookedStore {
  readonly lookUps: (readonly string[])[] = []

  override nextDue(request: Parameters<HookedStore['nextDue']>[0]) {
    this.lookUps.push(request.destinationIds)
    return super.nextDue(request)
  }
}

describe('the cost of a request', () => {
  /** Counts readings of the clock per request. Every check of a destination reads the clock. */
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
    // Each request takes a turn of the event loop, as over a network.
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
    { name: 'that wait in the store', add: ({ add }: Dispatching) => add('crm', 1_000) },
    {
      name: 'that arrive one by one',
      add: async ({ dispatcher }: Dispatching) => {
        for (const event of eventsTo('crm', 1_000)) await dispatcher.add([event])
      },
    },
  ])('does not grow with the number of destinations, for events $name', async ({ add }) => {
    const few = await readsPerRequest(0, add)
    const many = await readsPerRequest(500, add)
    expect(many - few).toBeLessThan(1)
  })
})

/** Returns a function that lists the destinations whose queues the dispatcher checked. */
function watchQueues(): () => ReadonlySet<string> {
  const methods = ['next', 'room', 'giveBackIdle', 'parkedUntilMs', 'isUndeliverable'] as const
  const { prototype } = DestinationQueue
  const isEmpty = vi.spyOn(prototype, 'isEmpty', 'get')
  const spies = [isEmpty, ...methods.map((method) => vi.spyOn(prototype, method))]
  onTestFinished(() => spies.forEach((spy) => spy.mockRestore()))
  return () => {
    const queues = spies.flatMap(({ mock }) => mock.contexts) as DestinationQueue[]
    return new Set(queues.map(({ destination }) => destination.id))
  }
}

describe('a destination without deliveries', () => {
  /** Creates a dispatcher with a healthy target, one that fails, and twenty without deliveries. */
  function mixed(store = new HookedStore()) {
    const clock = new ManualClock(startMs)
    const healthy = target('healthy', new ScriptedSender(() => answered(200)))
    const failing = target('failing', new ScriptedSender(() => answered(503)))
    return { ...dispatching([healthy, failing, ...idleTargets(20)], clock, { store }), clock }
  }

  test('is not checked while others get events, retries and claims', async () => {
    const { dispatcher, add, clock } = mixed()
    await dispatcher.idle()
    const checked = watchQueues()
    await dispatcher.add([...eventsTo('healthy', 100, 'w'), ...eventsTo('failing', 3, 'i')])
    await clock.advance(10_000)
    await add('healthy', 50)
    dispatcher.wake()
    await quiet()
    expect(checked()).toEqual(new Set(['healthy', 'failing']))
  })

  test('is not checked any more once its deliveries are settled', async () => {
    const { dispatcher } = mixed()
    await dispatcher.add(eventsTo('idle0', 100, 'early'))
    await dispatcher.idle()
    const checked = watchQueues()
    await dispatcher.add(eventsTo('healthy', 100))
    await quiet()
    expect(checked()).toEqual(new Set(['healthy']))
  })
})

describe('destinations whose endpoints are down', () => {
  /** Creates a dispatcher with one healthy destination, and many with an open breaker and waiting deliveries. */
  async function mostlyDown(options: DispatchingOptions = {}) {
    const clock = new ManualClock(startMs)
    const healthy = new ScriptedSender(
      () => new Promise((resolve) => setImmediate(() => resolve(answered(200)))),
    )
    const down = new ScriptedSender(() => answered(503))
    const downIds = Array.from({ length: 40 }, (_, index) => `down${index}`)
    const targets = [target('crm', healthy), ...downIds.map((id) => target(id, down))]
    const all = dispatching(targets, clock, { keepsParked: true, ...options })
    for (const id of downIds) await all.add(id, 12)
    all.dispatcher.wake()
    await expect.poll(() => all.endpoints.filter(({ state }) => state === 'open').length).toBe(40)
    await quiet()
    return { ...all, clock, healthy, down }
  }

  test('leave the others as many requests at once as without them', async () => {
    const { dispatcher, add, healthy, store } = await mostlyDown({ requestsMax: 12 })
    await add('crm', 200)
    dispatcher.wake()
    await expect.poll(async () => (await store.ledger()).delivered).toBe(200)
    expect(healthy.inFlightMax).toBe(10)
  })

  test('are not checked while others get events, but get their probes', async () => {
    const { dispatcher, clock, down } = await mostlyDown()
    const checked = watchQueues()
    await dispatcher.add(eventsTo('crm', 100))
    await quiet()
    expect(checked()).toEqual(new Set(['crm']))
    const { length: before } = down.bodies
    await clock.advance(30_000)
    expect(down.bodies).toHaveLength(before + 40)
  })
})

describe('the store', () => {
  test('is queried only for the destination whose retry is due', async () => {
    const clock = new ManualClock(startMs)
    const store = new RecordingStore()
    const sender = new ScriptedSender((count) => answered(count <= 3 ? 503 : 200))
    const targets = [target('crm', sender), ...idleTargets(20)]
    const { dispatcher } = dispatching(targets, clock, { store })
    dispatcher.wake()
    await quiet()
    expect(store.lookUps).toHaveLength(1)
    store.lookUps.length = 0
    await dispatcher.add(eventsTo('crm', 3))
    await clock.advance(10_000)
    expect(await store.ledger()).toMatchObject({ delivered: 3, pending: 0 })
    expect(store.lookUps).toEqual([['crm']])
    expect(store.counts.claim).toBe(1)
  })

  test('is not queried again if nothing waits', async () => {
    const clock = new ManualClock(startMs)
    const { dispatcher, store } = dispatching(idleTargets(20), clock)
    await dispatcher.idle()
    await clock.advance(24 * 60 * 60 * 1_000)
    expect(store.counts).toEqual({ add: 0, claim: 0, settle: 0, nextDue: 1 })
  })
})
