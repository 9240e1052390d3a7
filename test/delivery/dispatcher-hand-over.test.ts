import { describe, expect, test } from 'vitest'
import type { AddOutcome, NewEvent } from '../../src/delivery/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { countSurvivors } from '../support/collect-garbage.ts'
import { gate } from '../support/gate.ts'
import { startMs } from '../support/recording-runtime.ts'
import {
  claimAll,
  dispatching,
  eventsTo,
  eventTo,
  HookedStore,
  quiet,
  ScriptedSender,
  target,
  type Dispatching,
} from './dispatching.ts'
import { answered } from './samples.ts'

const dayMs = 24 * 60 * 60 * 1_000
const ok = (): ScriptedSender => new ScriptedSender(() => answered(200))

/** Creates a dispatcher that knows that its store is empty. */
async function informed(...args: Parameters<typeof dispatching>): Promise<Dispatching> {
  const all = dispatching(...args)
  await all.dispatcher.idle()
  return all
}

describe('a new event', () => {
  test('is sent at once, without being read back', async () => {
    const sender = ok()
    const { dispatcher, store } = await informed([target('crm', sender)])
    expect(await dispatcher.add(eventsTo('crm', 3))).toEqual(['routed', 'routed', 'routed'])
    expect(sender.bodies).toEqual(['e_1', 'e_2', 'e_3'])
    await dispatcher.idle()
    expect(store.counts.claim).toBe(0)
    expect(await store.ledger()).toMatchObject({ delivered: 3, pending: 0 })
  })

  test('is claimed until the dispatcher knows what waits in the store', async () => {
    const sender = ok()
    const { dispatcher, add } = dispatching([target('crm', sender)])
    await add('crm')
    await dispatcher.add(eventsTo('crm', 1))
    expect(sender.bodies).toEqual([])
    await quiet()
    expect(sender.bodies).toEqual(['m_1', 'e_1'])
  })

  test('is not kept in memory while it is stored', async () => {
    const { opened, open } = gate()
    const store = new HookedStore()
    // Not async: a suspended function would keep the events alive.
    store.add = () => opened.then(() => ({ outcomes: ['routed'], leased: [], refused: [] }))
    const { dispatcher } = dispatching([target('crm', ok())], undefined, { store })
    const addOne = (): readonly [WeakRef<object>, Promise<readonly AddOutcome[]>] => {
      const event = eventTo('crm', 'm_1')
      return [new WeakRef(event), dispatcher.add([event])]
    }
    const [event, adding] = addOne()
    expect(await countSurvivors([event])).toBe(0)
    open()
    expect(await adding).toEqual(['routed'])
  })

  test('does not overtake deliveries that already wait in the store', async () => {
    const { opened, open } = gate()
    const sender = new ScriptedSender(() => opened.then(() => answered(200)))
    const { dispatcher } = await informed([target('crm', sender, 1)])
    // One is in flight, one waits in the queue, and the others in the store.
    await dispatcher.add(eventsTo('crm', 5, 'before'))
    await dispatcher.add(eventsTo('crm', 2, 'after'))
    open()
    await dispatcher.idle()
    const before = [1, 2, 3, 4, 5].map((number) => `before_${number}`)
    expect(sender.bodies).toEqual([...before, 'after_1', 'after_2'])
  })

  test('is handed over again once no delivery waits in the store', async () => {
    const sender = ok()
    const { dispatcher, store } = await informed([target('crm', sender, 1)])
    await dispatcher.add(eventsTo('crm', 10, 'before'))
    await dispatcher.idle()
    const { claim } = store.counts
    expect(claim).toBeGreaterThan(0)
    await dispatcher.add(eventsTo('crm', 1))
    expect(sender.bodies.at(-1)).toBe('e_1')
    await dispatcher.idle()
    expect(store.counts.claim).toBe(claim)
  })

  test.each([1, 3, 10])(
    'is claimed later, in order, if there is no room for it (concurrency %i)',
    async (concurrency) => {
      const sender = ok()
      const { dispatcher, store } = await informed([target('crm', sender, concurrency)])
      await dispatcher.add(eventsTo('crm', 100))
      await dispatcher.idle()
      expect(sender.bodies).toEqual(eventsTo('crm', 100).map(({ messageId }) => messageId))
      expect(await store.ledger()).toMatchObject({ delivered: 100 })
    },
  )

  test('shares the room with another that is added at the same time', async () => {
    const { opened, open } = gate()
    const sender = new ScriptedSender(() => opened.then(() => answered(200)))
    const { dispatcher, store } = await informed([target('crm', sender, 2)])
    await Promise.all([
      dispatcher.add(eventsTo('crm', 2, 'a')),
      dispatcher.add(eventsTo('crm', 3, 'b')),
    ])
    const waiting = await claimAll(store, { destinationId: 'crm', lane: 'first', dueByMs: startMs })
    // There is room for four: two in flight and two in the queue.
    expect(waiting.map(({ body }) => body)).toEqual(['b_3'])
    open()
    await dispatcher.stop()
  })

  test('for several destinations goes to each that has room', async () => {
    const { opened, open } = gate()
    const [crm, mail] = [new ScriptedSender(() => opened.then(() => answered(200))), ok()]
    const { dispatcher, store } = await informed([target('crm', crm, 1), target('mail', mail, 1)])
    await dispatcher.add(eventsTo('crm', 5, 'before'))
    const deliveries = ['crm', 'mail', 'elsewhere'].map((destinationId) => ({
      destinationId,
      body: `to ${destinationId}`,
    }))
    const event: NewEvent = { ...eventTo('crm', 'm_1'), deliveries }
    await dispatcher.add([event])
    expect(mail.bodies).toEqual(['to mail'])
    open()
    await dispatcher.idle()
    expect(crm.bodies.at(-1)).toBe('to crm')
    expect(await store.ledger()).toMatchObject({ delivered: 7, pending: 1 })
  })
})

describe('an event of one of two sources', () => {
  /** Creates a dispatcher with one destination for two sources. `passed` lets its sender answer. */
  async function shared() {
    const { opened, open } = gate()
    const sender = new ScriptedSender(() => opened.then(() => answered(200)))
    const { destination } = target('crm', sender, 1)
    const sourceIds = ['noisy', 'quiet']
    const all = await informed([{ destination: { ...destination, sourceIds }, sender }])
    const add = (sourceId: string, count: number, backlogMax?: number) =>
      all.dispatcher.add(
        eventsTo('crm', count, sourceId).map((event) => ({
          ...event,
          sourceId,
          deliveries: event.deliveries.map((delivery) => ({ ...delivery, backlogMax })),
        })),
      )
    const passed = async (messageId: string): Promise<number> => {
      open()
      await all.dispatcher.idle()
      return sender.bodies.indexOf(messageId)
    }
    return { ...all, add, passed }
  }

  test('passes the backlog of the other, even after duplicates of its own', async () => {
    const { dispatcher, store, add, passed } = await shared()
    await store.add({
      nowMs: startMs,
      seenSinceMs: 0,
      events: eventsTo('crm', 300, 'quiet').map((event) => ({
        ...event,
        sourceId: 'quiet',
        deliveries: [],
      })),
      handOver: [],
    })
    await add('noisy', 200)
    for (let time = 0; time < 2; time++) {
      expect(new Set(await add('quiet', 300))).toEqual(new Set(['duplicate']))
    }
    await dispatcher.add([{ ...eventTo('crm', 'new'), sourceId: 'quiet' }])
    expect(await passed('new')).toBeLessThan(5)
  })

  test('passes that backlog even after deliveries of its own failed because of a full backlog', async () => {
    const { dispatcher, add, passed } = await shared()
    await add('noisy', 200)
    await add('quiet', 300, 1)
    await dispatcher.add([{ ...eventTo('crm', 'new'), sourceId: 'quiet' }])
    expect(await passed('new')).toBeLessThan(5)
  })

  test('passes that backlog even after an add failed', async () => {
    const { dispatcher, store, add, passed } = await shared()
    await add('noisy', 200)
    store.before = (step) => (step === 'add' ? Promise.reject(new Error('no')) : Promise.resolve())
    await expect(add('quiet', 300)).rejects.toThrow('no')
    store.before = () => Promise.resolve()
    await dispatcher.add([{ ...eventTo('crm', 'new'), sourceId: 'quiet' }])
    expect(await passed('new')).toBeLessThan(5)
  })

  test('does not pass that backlog while more deliveries of its own source wait', async () => {
    const { dispatcher, add, passed } = await shared()
    await add('noisy', 20)
    await add('quiet', 200)
    await dispatcher.add([{ ...eventTo('crm', 'new'), sourceId: 'quiet' }])
    expect(await passed('new')).toBeGreaterThan(200)
  })
})

describe('a store that is slow to answer', () => {
  test('does not delay ready deliveries', async () => {
    const ends: (() => void)[] = []
    const sender = new ScriptedSender(async () => {
      await new Promise<void>((resolve) => ends.push(resolve))
      return answered(200)
    })
    const { dispatcher, store } = await informed([target('crm', sender, 1)])
    await dispatcher.add(eventsTo('crm', 2))
    const { opened, open } = gate()
    store.before = (step) => (step === 'nextDue' ? opened : Promise.resolve())
    dispatcher.wake()
    await quiet()
    ends.shift()?.()
    await quiet()
    expect(sender.bodies).toEqual(['e_1', 'e_2'])
    ends.shift()?.()
    open()
    await dispatcher.idle()
    expect(await store.ledger()).toMatchObject({ delivered: 2 })
  })

  test('does not delay deliveries that an add hands over', async () => {
    const sender = ok()
    const { dispatcher, store, add } = await informed([target('crm', ok()), target('mail', sender)])
    const { opened, open } = gate()
    store.before = (step) => (step === 'claim' ? opened : Promise.resolve())
    await add('crm')
    dispatcher.wake()
    await quiet()
    expect(store.counts.claim).toBe(1)
    await dispatcher.add(eventsTo('mail', 1))
    await quiet()
    expect(sender.bodies).toEqual(['e_1'])
    open()
    await dispatcher.idle()
  })
})

describe('events without a delivery', () => {
  test('such as duplicates take up no room', async () => {
    const sender = ok()
    const { dispatcher, store } = await informed([target('crm', sender, 2)])
    for (let time = 0; time < 10; time++) await dispatcher.add(eventsTo('crm', 4))
    await dispatcher.idle()
    await dispatcher.add(eventsTo('crm', 4, 'new'))
    await dispatcher.idle()
    expect(sender.bodies).toHaveLength(8)
    expect(await store.ledger()).toMatchObject({ duplicate: 36, delivered: 8 })
  })

  test('get the outcomes of the store', async () => {
    const { dispatcher } = await informed([target('crm', ok())])
    const filtered: NewEvent = { ...eventTo('crm', 'f_1'), deliveries: [] }
    const events = [filtered, eventTo('crm', 'e_1'), eventTo('crm', 'e_1')]
    expect(await dispatcher.add(events)).toEqual(['filtered', 'routed', 'duplicate'])
  })

  test.each([
    { name: 'a day', dedupeWindowMs: undefined, windowMs: dayMs },
    { name: 'the given time', dedupeWindowMs: 1_000, windowMs: 1_000 },
  ])('count as duplicates for $name', async ({ dedupeWindowMs, windowMs }) => {
    const clock = new ManualClock(startMs)
    const options = dedupeWindowMs === undefined ? {} : { dedupeWindowMs: () => dedupeWindowMs }
    const { dispatcher } = await informed([target('crm', ok())], clock, options)
    await dispatcher.add(eventsTo('crm', 1))
    await clock.advance(windowMs)
    expect(await dispatcher.add(eventsTo('crm', 1))).toEqual(['duplicate'])
    await clock.advance(1)
    expect(await dispatcher.add(eventsTo('crm', 1))).toEqual(['routed'])
  })
})

describe('an add that fails', () => {
  test('is rejected, and its room is free again', async () => {
    const sender = ok()
    const { dispatcher, store } = await informed([target('crm', sender, 2)])
    const error = new Error('disk full')
    store.before = (step) => (step === 'add' ? Promise.reject(error) : Promise.resolve())
    for (let time = 0; time < 5; time++) {
      await expect(dispatcher.add(eventsTo('crm', 4))).rejects.toBe(error)
    }
    store.before = () => Promise.resolve()
    await dispatcher.idle()
    const { claim } = store.counts
    await dispatcher.add(eventsTo('crm', 4))
    await quiet()
    expect(sender.bodies).toHaveLength(4)
    await dispatcher.idle()
    expect(store.counts.claim).toBe(claim)
    expect(await store.ledger()).toMatchObject({ accepted: 4, delivered: 4 })
  })

  test('does not stop the dispatcher', async () => {
    const sender = ok()
    const { dispatcher, store, add } = await informed([target('crm', sender)])
    store.before = (step) => (step === 'add' ? Promise.reject(new Error('no')) : Promise.resolve())
    await expect(dispatcher.add(eventsTo('crm', 1))).rejects.toThrow('no')
    store.before = () => Promise.resolve()
    await add('crm')
    await dispatcher.idle()
    expect(sender.bodies).toEqual(['m_1'])
  })
})

describe('an add while the dispatcher stops', () => {
  test.each(['before', 'after'] as const)(
    'returns its leases before it resolves if it was in progress (%s)',
    async (when) => {
      const sender = ok()
      const { dispatcher, store } = await informed([target('crm', sender)])
      const { opened, open } = gate()
      store[when] = (step) => (step === 'add' ? opened : Promise.resolve())
      const added = dispatcher.add(eventsTo('crm', 3))
      await quiet()
      // `stop` must not wait for the add, because a full store delays it until the store is closed.
      await dispatcher.stop()
      open()
      expect(await added).toEqual(['routed', 'routed', 'routed'])
      expect(sender.bodies).toEqual([])
      const lane = { destinationId: 'crm', lane: 'first', dueByMs: startMs } as const
      const fresh = { attempts: 0, windowAttempts: 0, firstAttemptAtMs: null }
      expect(await claimAll(store, lane)).toMatchObject([fresh, fresh, fresh])
    },
  )

  test('gets no leases if it begins after the stop', async () => {
    const sender = ok()
    const { dispatcher, store } = await informed([target('crm', sender)])
    await dispatcher.stop()
    await dispatcher.add(eventsTo('crm', 3))
    expect(store.counts.settle).toBe(0)
    const lane = { destinationId: 'crm', lane: 'first', dueByMs: startMs } as const
    expect(await claimAll(store, lane)).toHaveLength(3)
  })
})
