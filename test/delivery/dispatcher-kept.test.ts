import { describe, expect, test } from 'vitest'
import { defaultRetryPolicy } from '../../src/delivery/index.ts'
import { ManualClock, VirtualClock } from '../../src/runtime/index.ts'
import { countSurvivors } from '../support/collect-garbage.ts'
import { startMs } from '../support/recording-runtime.ts'
import {
  dispatching,
  eventsTo,
  HookedStore,
  isSettled,
  quiet,
  ScriptedSender,
  target,
} from './dispatching.ts'
import { answered } from './samples.ts'
import { addAndLease } from '../conformance/store-under-test.ts'

const minuteMs = 60_000
const retryPolicy = { ...defaultRetryPolicy, windowMs: minuteMs }

/** Creates a dispatcher with a retry window of a minute. A test sets the status of its endpoint. */
function start(options: { readonly keepsParked?: boolean } = {}) {
  const clock = new ManualClock(startMs)
  const state = { status: 503 }
  const sender = new ScriptedSender(() => answered(state.status))
  const targets = [{ ...target('crm', sender), retryPolicy }]
  return { ...dispatching(targets, clock, options), clock, sender, state, targets }
}

describe('deliveries to an endpoint that is down for a whole retry window', () => {
  test('expire with the failed probe, and idle resolves', async () => {
    const { dispatcher, store, clock, endpoints } = start()
    await dispatcher.add(eventsTo('crm', 200))
    const idle = dispatcher.idle()
    await clock.advance(2 * minuteMs)
    expect(await isSettled(idle)).toBe(true)
    expect(await store.ledger()).toMatchObject({ expired: 200, pending: 0 })
    // Two probes in the window, and two after it for deliveries that a probe tried first.
    expect(endpoints.filter(({ state }) => state === 'open').length).toBeLessThanOrEqual(5)
  })

  test('stay parked with keepsParked, although idle resolves', async () => {
    const { dispatcher, store, clock, sender, settled } = start({ keepsParked: true })
    await dispatcher.add(eventsTo('crm', 200))
    const idle = dispatcher.idle()
    await clock.advance(minuteMs - 1)
    expect(await isSettled(idle)).toBe(false)
    await clock.advance(minuteMs)
    expect(await isSettled(idle)).toBe(true)
    const { pending, expired } = await store.ledger()
    expect(pending + expired).toBe(200)
    // Only deliveries that were tried for a whole window expired.
    expect(settled.every(({ attempts }) => attempts > 0)).toBe(true)
    expect(new Set(sender.bodies).size).toBeGreaterThanOrEqual(expired)
    expect(pending).toBeGreaterThan(150)
  })

  test('are delivered once the endpoint answers again, however late', async () => {
    const { dispatcher, store, clock, state, sender } = start({ keepsParked: true })
    await dispatcher.add(eventsTo('crm', 200))
    await clock.advance(10 * minuteMs)
    const tried = new Set(sender.bodies).size
    state.status = 200
    await clock.advance(10 * minuteMs)
    const { delivered, expired, pending } = await store.ledger()
    expect({ pending, all: delivered + expired }).toEqual({ pending: 0, all: 200 })
    expect(delivered).toBeGreaterThanOrEqual(200 - tried)
  })

  test('are delivered by a later dispatcher', async () => {
    const { dispatcher, store, clock, state, sender, targets } = start({ keepsParked: true })
    await dispatcher.add(eventsTo('crm', 200))
    await clock.advance(10 * minuteMs)
    await dispatcher.stop()
    const tried = new Set(sender.bodies).size
    state.status = 200
    const later = dispatching(targets, new VirtualClock(clock.nowMs()), { store })
    await later.dispatcher.idle()
    const { delivered, expired, pending } = await store.ledger()
    expect({ pending, all: delivered + expired }).toEqual({ pending: 0, all: 200 })
    expect(delivered).toBeGreaterThanOrEqual(200 - tried)
  })
})

test('idle does not wait for a retry that is due after a whole window, with keepsParked', async () => {
  const { dispatcher, store, clock, sender } = start({ keepsParked: true })
  const [event] = eventsTo('crm', 1)
  const handOver = [{ destinationId: 'crm', deliveriesMax: 1 }]
  const nowMs = clock.nowMs()
  const { leased } = await addAndLease(store, { nowMs, seenSinceMs: 0, events: [event!], handOver })
  const progress = { attempts: 1, windowAttempts: 1, firstAttemptAtMs: nowMs, holds: [] }
  const dueAtMs = nowMs + 60 * minuteMs
  const retry = { kind: 'retry' as const, dueAtMs, expiresAtMs: dueAtMs, reason: 'status_503' }
  const settlements = [{ ...retry, delivery: leased[0]!, progress }]
  await store.settle({ nowMs, settlements, requests: [] })
  expect(await isSettled(dispatcher.idle())).toBe(true)
  await clock.advance(60 * minuteMs)
  expect(sender.bodies).toEqual([])
  expect(await store.ledger()).toMatchObject({ expired: 1, pending: 0 })
})

test('once the store cannot be written, adds are rejected and the error is logged', async () => {
  const store = new HookedStore()
  const failures: unknown[] = []
  const sender = new ScriptedSender(() => answered(200))
  const { dispatcher, warnings } = dispatching([target('crm', sender)], undefined, {
    store,
    failed: (error) => failures.push(error),
  })
  const error = new Error('disk full')
  store.before = (step) => (step === 'settle' ? Promise.reject(error) : Promise.resolve())
  await dispatcher.add(eventsTo('crm', 1))
  await quiet()
  await expect(dispatcher.add(eventsTo('crm', 1, 'other'))).rejects.toBe(error)
  expect(failures).toEqual([error])
  expect(warnings).toEqual([
    { message: 'this process has stopped sending webhooks', error: 'disk full' },
  ])
  expect(await store.ledger()).toMatchObject({ accepted: 1 })
})

test.each([true, false])(
  'a destination that was down can be garbage-collected once it is removed (keepsParked %s)',
  async (keepsParked) => {
    const { dispatcher } = dispatching([], new ManualClock(startMs), { keepsParked })
    const removed: WeakRef<object>[] = []
    // Not async: a suspended function would keep the target alive.
    const configure = (id: string): Promise<void> => {
      const added = target(id, new ScriptedSender(() => answered(503)))
      removed.push(new WeakRef(added.destination))
      return dispatcher.reconfigure([added])
    }
    for (const id of ['a', 'b', 'c']) {
      await configure(id)
      await dispatcher.add(eventsTo(id, 20))
      await quiet()
    }
    await dispatcher.reconfigure([])
    await quiet()
    expect(await countSurvivors(removed)).toBe(0)
  },
)
