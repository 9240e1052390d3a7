import { describe, expect, test } from 'vitest'
import type { DispatchTarget } from '../../src/delivery/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { checkDestination } from '../../src/webhook/index.ts'
import { gate } from '../support/gate.ts'
import { startMs } from '../support/recording-runtime.ts'
import { dispatching, eventsTo, HookedStore, quiet, ScriptedSender, target } from './dispatching.ts'
import { answered } from './samples.ts'

/** The same endpoint with a header that it did not have before. */
function withHeader(id: string, sender: ScriptedSender): DispatchTarget {
  const endpoints = [{ url: `https://example.com/${id}`, headers: { 'X-Team': 'growth' } }]
  return { destination: checkDestination({ id, sourceIds: ['website'], endpoints }), sender }
}

const well = (): ScriptedSender => new ScriptedSender(() => answered(200))
const ill = (): ScriptedSender => new ScriptedSender(() => answered(503))

describe('a dispatcher that is given other targets', () => {
  test('sends waiting deliveries through the new sender, and lets the old one end', async () => {
    const { opened, open } = gate()
    const before = new ScriptedSender(async () => {
      await opened
      return answered(200)
    })
    const { dispatcher, store, add } = dispatching([target('crm', before, 2)])
    await add('crm', 5)
    dispatcher.wake()
    await quiet()
    const today = well()
    let hasEnded = false
    const ended = dispatcher.reconfigure([target('crm', today, 2)]).then(() => {
      hasEnded = true
    })
    await quiet()
    expect(before.bodies).toEqual(['m_1', 'm_2'])
    // The endpoint is the same one: it has the requests that it may have.
    expect(today.bodies).toEqual([])
    expect(hasEnded).toBe(false)
    open()
    await ended
    await dispatcher.idle()
    expect(today.bodies).toEqual(['m_3', 'm_4', 'm_5'])
    expect(await store.ledger()).toMatchObject({ delivered: 5, pending: 0 })
  })

  test('keeps the breaker of an unchanged endpoint', async () => {
    const sender = ill()
    const { dispatcher, add, endpoints } = dispatching([target('crm', sender)])
    await add('crm', 10)
    dispatcher.wake()
    await quiet()
    expect(endpoints).toMatchObject([{ state: 'open' }])
    await add('crm')
    dispatcher.wake()
    await quiet()
    await dispatcher.reconfigure([target('crm', sender), target('mail', well())])
    await quiet()
    expect(sender.bodies).toHaveLength(10)
    expect(endpoints).toHaveLength(1)
  })

  test('begins with a closed breaker for a changed endpoint, and reports it', async () => {
    const sender = ill()
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

  test('says nothing of a breaker that was replaced while its requests were in progress', async () => {
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
    'gives back what a store hands out after its destination went: %s',
    async (step) => {
      const { opened, open } = gate()
      const store = new HookedStore()
      const sender = well()
      const clock = new ManualClock(startMs)
      const { dispatcher, add } = dispatching([target('crm', sender)], clock, { store })
      // Until then it is not known that the lane is empty.
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

  test('takes turns among the targets of today', async () => {
    const first = ill()
    const second = well()
    const { dispatcher, store, add } = dispatching([target('a', first), target('b', first)])
    await dispatcher.reconfigure([target('c', second)])
    await add('c', 30)
    await dispatcher.idle()
    expect(await store.ledger()).toMatchObject({ delivered: 30 })
  })
})
