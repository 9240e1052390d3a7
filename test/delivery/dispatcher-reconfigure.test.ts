import { describe, expect, test } from 'vitest'
import type { DispatchTarget } from '../../src/delivery/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { checkDestination } from '../../src/webhook/index.ts'
import { gate } from '../support/gate.ts'
import { startMs } from '../support/recording-runtime.ts'
import { dispatching, eventsTo, HookedStore, quiet, ScriptedSender, target } from './dispatching.ts'
import { answered } from './samples.ts'

/** Makes the endpoint of `target` with an additional header. */
function withHeader(id: string, sender: ScriptedSender): DispatchTarget {
  const endpoints = [{ url: `https://example.com/${id}`, headers: { 'X-Team': 'growth' } }]
  return { destination: checkDestination({ id, sourceIds: ['website'], endpoints }), sender }
}

const healthy = (): ScriptedSender => new ScriptedSender(() => answered(200))
const failing = (): ScriptedSender => new ScriptedSender(() => answered(503))

describe('a dispatcher with new targets', () => {
  test('sends waiting deliveries through the new sender, and lets requests of the old one end', async () => {
    const { opened, open } = gate()
    const before = new ScriptedSender(async () => {
      await opened
      return answered(200)
    })
    const { dispatcher, store, add } = dispatching([target('crm', before, 2)])
    await add('crm', 5)
    dispatcher.wake()
    await quiet()
    const newSender = healthy()
    let hasEnded = false
    const ended = dispatcher.reconfigure([target('crm', newSender, 2)]).then(() => {
      hasEnded = true
    })
    await quiet()
    expect(before.bodies).toEqual(['m_1', 'm_2'])
    // It is the same endpoint, and it already has as many requests as it may have.
    expect(newSender.bodies).toEqual([])
    expect(hasEnded).toBe(false)
    open()
    await ended
    await dispatcher.idle()
    expect(newSender.bodies).toEqual(['m_3', 'm_4', 'm_5'])
    expect(await store.ledger()).toMatchObject({ delivered: 5, pending: 0 })
  })

  test('keeps the breaker of an unchanged endpoint', async () => {
    const sender = failing()
    const { dispatcher, add, endpoints } = dispatching([target('crm', sender)])
    await add('crm', 10)
    dispatcher.wake()
    await quiet()
    expect(endpoints).toMatchObject([{ state: 'open' }])
    await add('crm')
    dispatcher.wake()
    await quiet()
    await dispatcher.reconfigure([target('crm', sender), target('mail', healthy())])
    await quiet()
    expect(sender.bodies).toHaveLength(10)
    expect(endpoints).toHaveLength(1)
  })

  test('begins with a closed breaker for a changed endpoint, and reports it', async () => {
    const sender = failing()
    const { dispatcher, add, endpoints } = dispatching([target('crm', sender)])
    await add('crm', 10)
    dispatcher.wake()
    await quiet()
    await add('crm')
    dispatcher.wake()
    await quiet()
    sender.answer = () => answered(200)
    await dispatcher.reconfigure([withHeader('crm', sender)])
    await quiet()
    expect(sender.bodies.at(-1)).toBe('m_11')
    expect(endpoints).toMatchObject([
      { state: 'open' },
      { destinationId: 'crm', url: 'https://example.com/crm', state: 'closed', error: null },
    ])
  })

  test('reports nothing about a breaker that was replaced while its requests were in flight', async () => {
    const { opened, open } = gate()
    const sender = new ScriptedSender(async () => {
      await opened
      return answered(503)
    })
    const { dispatcher, add, endpoints } = dispatching([target('crm', sender)])
    await add('crm', 10)
    dispatcher.wake()
    await quiet()
    const ended = dispatcher.reconfigure([withHeader('crm', sender)])
    open()
    await ended
    expect(endpoints).toEqual([])
  })

  test('returns ready deliveries of a removed destination, and finds them when it is back', async () => {
    const { opened, open } = gate()
    const sender = new ScriptedSender(async () => {
      await opened
      return answered(200)
    })
    const { dispatcher, store, add } = dispatching([target('crm', sender, 1)])
    await add('crm', 3)
    dispatcher.wake()
    await quiet()
    const ended = dispatcher.reconfigure([])
    open()
    await ended
    await dispatcher.idle()
    expect(sender.bodies).toEqual(['m_1'])
    expect(await store.ledger()).toMatchObject({ delivered: 1, pending: 2 })
    await dispatcher.reconfigure([target('crm', sender, 1)])
    await dispatcher.idle()
    expect(sender.bodies).toEqual(['m_1', 'm_2', 'm_3'])
  })

  test.each(['add', 'claim'] as const)(
    'returns deliveries that the store leases after their destination was removed: %s',
    async (step) => {
      const { opened, open } = gate()
      const store = new HookedStore()
      const sender = healthy()
      const clock = new ManualClock(startMs)
      const { dispatcher, add } = dispatching([target('crm', sender)], clock, { store })
      // Lets the dispatcher learn that the lane is empty.
      await dispatcher.idle()
      store.after = (each) => (each === step ? opened : Promise.resolve())
      const adding = step === 'add' ? dispatcher.add(eventsTo('crm', 2)) : add('crm', 2)
      if (step === 'claim') {
        await quiet()
        store.after = (each) => (each === 'claim' ? opened : Promise.resolve())
        dispatcher.wake()
      }
      await quiet()
      await dispatcher.reconfigure([])
      await dispatcher.reconfigure([target('crm', sender)])
      open()
      await adding
      await dispatcher.idle()
      expect(sender.bodies).toHaveLength(2)
      expect(await store.ledger()).toMatchObject({ delivered: 2, pending: 0 })
    },
  )

  test('uses only the new targets', async () => {
    const first = failing()
    const second = healthy()
    const { dispatcher, store, add } = dispatching([target('a', first), target('b', first)])
    await dispatcher.reconfigure([target('c', second)])
    await add('c', 30)
    await dispatcher.idle()
    expect(await store.ledger()).toMatchObject({ delivered: 30 })
  })
})
