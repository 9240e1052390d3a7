import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ManualClock, VirtualClock } from '../../src/runtime/index.ts'
import { gate } from '../support/gate.ts'
import { startMs } from '../support/recording-runtime.ts'
import { dispatching, isSettled, quiet, ScriptedSender, target } from './dispatching.ts'
import { answered } from './samples.ts'

const hourMs = 60 * 60 * 1_000

describe('a due delivery', () => {
  test('is sent, settled and reported', async () => {
    const sender = new ScriptedSender(() => answered(200))
    const { dispatcher, store, add, settled } = dispatching([target('crm', sender)])
    await add('crm', 2)
    await dispatcher.idle()
    expect(sender.bodies).toEqual(['m_1', 'm_2'])
    expect(await store.ledger()).toMatchObject({ delivered: 2, pending: 0 })
    const common = { type: 'track', destinationId: 'crm', state: 'delivered', attempts: 1 }
    expect(settled).toEqual([
      { ...common, messageId: 'm_1', acceptedAtMs: startMs, reason: null },
      { ...common, messageId: 'm_2', acceptedAtMs: startMs, reason: null },
    ])
  })

  test('is sent without a call of idle', async () => {
    const sender = new ScriptedSender(() => answered(200))
    const { dispatcher, store, add } = dispatching([target('crm', sender)])
    await add('crm')
    dispatcher.wake()
    await quiet()
    expect(await store.ledger()).toMatchObject({ delivered: 1 })
  })

  test('is neither sent nor waited for if its destination is unknown', async () => {
    const sender = new ScriptedSender(() => answered(200))
    const { dispatcher, store, add } = dispatching([target('crm', sender)])
    await add('mail')
    await dispatcher.idle()
    expect(sender.bodies).toEqual([])
    expect(await store.ledger()).toMatchObject({ delivered: 0, pending: 1 })
  })

  test('is reported with the reason if it failed for good', async () => {
    const sender = new ScriptedSender(() => answered(404))
    const { dispatcher, store, add, settled } = dispatching([target('crm', sender)])
    await add('crm')
    await dispatcher.idle()
    expect(await store.ledger()).toMatchObject({ failed: 1, pending: 0 })
    expect(settled).toMatchObject([{ state: 'failed', attempts: 1, reason: 'status_404' }])
  })
})

describe('a destination', () => {
  test('has as many requests in flight as its concurrency allows, and no more', async () => {
    const { opened, open } = gate()
    const sender = new ScriptedSender(async () => {
      await opened
      return answered(200)
    })
    const { dispatcher, store, add } = dispatching([target('crm', sender, 3)])
    await add('crm', 25)
    dispatcher.wake()
    await quiet()
    dispatcher.wake()
    await quiet()
    expect(sender.bodies).toHaveLength(3)
    open()
    await dispatcher.idle()
    expect(sender.inFlightMax).toBe(3)
    expect(await store.ledger()).toMatchObject({ delivered: 25 })
  })

  test('continues with the next delivery as soon as one ends', async () => {
    const gates = Array.from({ length: 4 }, gate)
    const sender = new ScriptedSender(async (count) => {
      await gates[count - 1]?.opened
      return answered(200)
    })
    const { dispatcher, add } = dispatching([target('crm', sender, 2)])
    await add('crm', 4)
    dispatcher.wake()
    await quiet()
    gates[1]?.open()
    await quiet()
    expect(sender.bodies).toEqual(['m_1', 'm_2', 'm_3'])
    for (const { open } of gates) open()
    await dispatcher.idle()
  })

  test('that hangs does not delay another', async () => {
    const { opened, open } = gate()
    const hanging = new ScriptedSender(async () => {
      await opened
      return answered(200)
    })
    const quick = new ScriptedSender(() => answered(200))
    const { dispatcher, store, add, settled } = dispatching([
      target('crm', hanging, 2),
      target('mail', quick, 2),
    ])
    await add('crm', 50)
    await add('mail', 50)
    dispatcher.wake()
    await quiet()
    expect(hanging.bodies).toHaveLength(2)
    expect(quick.bodies).toHaveLength(50)
    expect(settled).toHaveLength(50)
    open()
    await dispatcher.idle()
    expect(await store.ledger()).toMatchObject({ delivered: 100 })
  })
})

describe('a retry', () => {
  test('is made when it is due, and not before', async () => {
    const clock = new ManualClock(startMs)
    const sender = new ScriptedSender((count) => answered(count === 1 ? 503 : 200))
    const { dispatcher, store, add, settled } = dispatching([target('crm', sender)], clock)
    await add('crm')
    dispatcher.wake()
    await clock.advance(9_999)
    expect(sender.bodies).toHaveLength(1)
    expect(settled).toEqual([])
    expect(await store.ledger()).toMatchObject({ pending: 1 })
    await clock.advance(1)
    expect(sender.bodies).toEqual(['m_1', 'm_1'])
    expect(settled).toMatchObject([{ state: 'delivered', attempts: 2, reason: null }])
  })

  test('is made on time while others wait longer', async () => {
    const clock = new ManualClock(startMs)
    const late = new ScriptedSender((count) => answered(count === 1 ? 429 : 200, '3600'))
    const soon = new ScriptedSender((count) => answered(count === 1 ? 503 : 200))
    const targets = [target('crm', late), target('mail', soon)]
    const { dispatcher, add, requests } = dispatching(targets, clock)
    await add('crm')
    dispatcher.wake()
    await quiet()
    await add('mail')
    dispatcher.wake()
    await clock.advance(hourMs)
    expect(requests.map(({ url, atMs }) => [url, atMs - startMs])).toEqual([
      ['https://example.com/crm', 0],
      ['https://example.com/mail', 0],
      ['https://example.com/mail', 10_000],
      ['https://example.com/crm', hourMs],
    ])
  })

  test('waits as long as the endpoint asks for', async () => {
    const sender = new ScriptedSender((count) => answered(count === 1 ? 429 : 200, '600'))
    const clock = new VirtualClock(startMs)
    const { dispatcher, add, requests } = dispatching([target('crm', sender)], clock)
    await add('crm')
    await dispatcher.idle()
    // Jitter adds up to a fifth to the hold.
    expect(requests.map(({ atMs }) => atMs - startMs)).toEqual([0, 660_000])
  })

  test('is made nine times in four hours, and then the delivery expires', async () => {
    const sender = new ScriptedSender(() => answered(503))
    const clock = new VirtualClock(startMs)
    const { dispatcher, store, add, requests, settled } = dispatching(
      [target('crm', sender)],
      clock,
    )
    await add('crm')
    await dispatcher.idle()
    expect(requests.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    expect(requests.map(({ atMs }) => atMs - startMs)).toEqual([
      0, 10_000, 35_000, 97_500, 253_750, 644_375, 1_620_938, 4_062_344, 7_662_344, 11_262_344,
    ])
    expect(settled).toMatchObject([{ state: 'expired', attempts: 10, reason: 'status_503' }])
    // It expires with the last round, without waiting for the end of the window.
    expect(clock.nowMs() - startMs).toBe(11_262_344)
    expect(await store.ledger()).toMatchObject({ expired: 1, pending: 0 })
  })
})

describe('idle', () => {
  test('resolves at once when there is nothing to do', async () => {
    const { dispatcher } = dispatching([target('crm', new ScriptedSender(() => answered(200)))])
    expect(await isSettled(dispatcher.idle())).toBe(true)
  })

  test('waits for requests in progress', async () => {
    const { opened, open } = gate()
    const sender = new ScriptedSender(async () => {
      await opened
      return answered(200)
    })
    const { dispatcher, add } = dispatching([target('crm', sender, 1)])
    await add('crm', 2)
    const idle = dispatcher.idle()
    expect(await isSettled(idle)).toBe(false)
    open()
    await idle
    expect(sender.bodies).toHaveLength(2)
  })

  test('waits for a retry', async () => {
    const clock = new ManualClock(startMs)
    const sender = new ScriptedSender((count) => answered(count === 1 ? 503 : 200))
    const { dispatcher, add } = dispatching([target('crm', sender)], clock)
    await add('crm')
    const idle = dispatcher.idle()
    await clock.advance(9_999)
    expect(await isSettled(idle)).toBe(false)
    await clock.advance(1)
    await idle
  })

  test('waits for deliveries that were added while it found none', async () => {
    const sender = new ScriptedSender(() => answered(200))
    const { dispatcher, store, add } = dispatching([target('crm', sender)])
    const { opened, open } = gate()
    store.after = (step) => (step === 'nextDue' ? opened : Promise.resolve())
    const idle = dispatcher.idle()
    await quiet()
    await add('crm')
    dispatcher.wake()
    open()
    await idle
    expect(sender.bodies).toEqual(['m_1'])
  })

  test('resolves without targets', async () => {
    const { dispatcher, add } = dispatching([])
    await add('crm')
    await expect(dispatcher.idle()).resolves.toBeUndefined()
  })

  test('resolves for every caller, and again later', async () => {
    const sender = new ScriptedSender(() => answered(200))
    const { dispatcher, add } = dispatching([target('crm', sender)])
    await add('crm')
    await Promise.all([dispatcher.idle(), dispatcher.idle()])
    await add('crm')
    await dispatcher.idle()
    expect(sender.bodies).toHaveLength(2)
  })
})

describe('stop', () => {
  test('waits for requests in flight, and claims no more', async () => {
    const { opened, open } = gate()
    const sender = new ScriptedSender(async () => {
      await opened
      return answered(200)
    })
    const { dispatcher, store, add } = dispatching([target('crm', sender, 2)])
    await add('crm', 5)
    const idle = dispatcher.idle()
    await quiet()
    const stopped = Promise.all([dispatcher.stop(), dispatcher.stop()])
    expect(await isSettled(stopped)).toBe(false)
    expect(await isSettled(idle)).toBe(false)
    open()
    await stopped
    await idle
    expect(await store.ledger()).toMatchObject({ delivered: 2, pending: 3 })
    await add('crm')
    dispatcher.wake()
    await dispatcher.idle()
    await quiet()
    expect(sender.bodies).toHaveLength(2)
  })

  test('leaves no alarm behind that would keep the process alive', async () => {
    const clock = new ManualClock(startMs)
    const sender = new ScriptedSender(() => answered(503))
    const { dispatcher, add } = dispatching([target('crm', sender)], clock)
    await add('crm')
    dispatcher.wake()
    await quiet()
    expect(clock.nextDueMs()).toBe(startMs + 10_000)
    // There is only one alarm, however often it is set.
    dispatcher.wake()
    await quiet()
    await dispatcher.stop()
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('leaves no alarm behind if it is called while the next due time is looked up', async () => {
    const clock = new ManualClock(startMs)
    const sender = new ScriptedSender(() => answered(503))
    const { dispatcher, store, add } = dispatching([target('crm', sender)], clock)
    await add('crm')
    dispatcher.wake()
    await quiet()
    const { opened, open } = gate()
    store.after = (step) => (step === 'nextDue' ? opened : Promise.resolve())
    dispatcher.wake()
    await quiet()
    const stopped = dispatcher.stop()
    open()
    await stopped
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('returns deliveries of a claim that was in progress', async () => {
    const sender = new ScriptedSender(() => answered(200))
    const { dispatcher, store, add } = dispatching([target('crm', sender)])
    await add('crm')
    const { opened, open } = gate()
    store.after = (step) => (step === 'claim' ? opened : Promise.resolve())
    dispatcher.wake()
    await quiet()
    const stopped = dispatcher.stop()
    open()
    await stopped
    expect(sender.bodies).toEqual([])
    const shares = [
      { destinationId: 'crm', lane: 'first' as const, dueByMs: startMs, deliveriesMax: 1 },
    ]
    expect(await store.claim({ nowMs: startMs, shares })).toMatchObject([{ attempts: 0 }])
  })
})

describe('a store that cannot be used', () => {
  test.each(['claim', 'settle', 'nextDue'] as const)(
    'ends the work if %s fails, and rejects idle with the error',
    async (broken) => {
      const error = new Error('disk full')
      const clock = new ManualClock(startMs)
      const sender = new ScriptedSender(() => answered(503))
      const { dispatcher, store, add, settled } = dispatching([target('crm', sender)], clock)
      await add('crm')
      dispatcher.wake()
      await quiet()
      store.before = (step) => (step === broken ? Promise.reject(error) : Promise.resolve())
      await add('crm')
      await expect(dispatcher.idle()).rejects.toBe(error)
      await expect(dispatcher.idle()).rejects.toBe(error)
      expect(clock.nextDueMs()).toBeUndefined()
      const count = sender.bodies.length
      dispatcher.wake()
      await clock.advance(hourMs)
      expect(sender.bodies).toHaveLength(count)
      expect(settled).toEqual([])
      await dispatcher.stop()
    },
  )
})

test('no delivery is forgotten while others are claimed and settled', async () => {
  const property = fc.asyncProperty(
    fc.scheduler(),
    fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 8 }),
    fc.integer({ min: 1, max: 3 }),
    async (scheduler, counts, concurrency) => {
      const step = (): Promise<void> => scheduler.schedule(Promise.resolve())
      const sender = new ScriptedSender(async () => {
        await step()
        return answered(200)
      })
      const { dispatcher, store, add } = dispatching([target('crm', sender, concurrency)])
      store.before = step
      store.after = step
      let idle = false
      void dispatcher.idle().then(() => {
        idle = true
      })
      for (const count of counts) {
        void step().then(async () => {
          await add('crm', count)
          dispatcher.wake()
        })
      }
      while (scheduler.count() > 0) {
        await scheduler.waitNext(1)
        await quiet()
      }
      const added = counts.reduce((sum, count) => sum + count, 0)
      expect(sender.bodies.toSorted()).toEqual(
        Array.from({ length: added }, (_, index) => `m_${index + 1}`).toSorted(),
      )
      expect(await store.ledger()).toMatchObject({ delivered: added, pending: 0 })
      expect(idle).toBe(true)
      expect(sender.inFlightMax).toBeLessThanOrEqual(concurrency)
    },
  )
  await fc.assert(property)
})
