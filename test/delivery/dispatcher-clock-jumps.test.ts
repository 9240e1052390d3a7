import { describe, expect, test } from 'vitest'
import { defaultBreakerPolicy } from '../../src/delivery/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { startMs } from '../support/recording-runtime.ts'
import { dispatching, eventsTo, quiet, ScriptedSender, target, type Step } from './dispatching.ts'
import { answered } from './samples.ts'

const hourMs = 60 * 60 * 1_000
const dayMs = 24 * hourMs
const { openMs } = defaultBreakerPolicy

const jumps = [
  { name: 'back by an hour', byMs: -hourMs },
  { name: 'forward by a day', byMs: dayMs },
]

/** Returns the number of calls that a dispatcher made to its store, without adds. */
function calls(counts: Readonly<Record<Step, number>>): number {
  return counts.claim + counts.settle + counts.nextDue
}

function answering(status: number) {
  const clock = new ManualClock(startMs)
  const sender = new ScriptedSender(() => answered(status))
  return { ...dispatching([target('crm', sender, 1)], clock), clock, sender }
}

describe.each(jumps)('a clock that is set $name', ({ byMs }) => {
  test('does not delay first tries, whether they waited in the store or not', async () => {
    const { dispatcher, store, add, sender, clock } = answering(200)
    await add('crm', 30)
    clock.jump(byMs)
    dispatcher.wake()
    await quiet()
    expect(sender.bodies).toHaveLength(30)
    clock.jump(byMs)
    await dispatcher.add(eventsTo('crm', 30))
    for (let wait = 0; wait < 3; wait++) await quiet()
    expect(sender.bodies).toHaveLength(60)
    expect(await store.ledger()).toMatchObject({ delivered: 60, pending: 0 })
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('does not delay manual retries', async () => {
    const { dispatcher, store, sender, clock } = answering(404)
    await dispatcher.add(eventsTo('crm', 3))
    await dispatcher.idle()
    await store.retry({ nowMs: clock.nowMs(), filter: {}, limit: 10 })
    clock.jump(byMs)
    dispatcher.wake()
    await quiet()
    expect(sender.bodies).toHaveLength(6)
    expect(await store.ledger()).toMatchObject({ failed: 3, pending: 0 })
  })

  test('never makes a retry early, and makes it late by at most the step back, unless its window is over', async () => {
    const { dispatcher, store, requests, sender, clock } = answering(503)
    await dispatcher.add(eventsTo('crm', 1))
    await quiet()
    sender.answer = () => answered(200)
    await clock.advance(4_000)
    clock.jump(byMs)
    await clock.advance(5_999)
    expect(requests).toHaveLength(1)
    const beforeMs = clock.nowMs()
    await clock.advance(1 + Math.max(-byMs, 0))
    if (byMs > 0) {
      expect(requests).toHaveLength(1)
      expect(await store.ledger()).toMatchObject({ expired: 1, pending: 0 })
      return
    }
    expect(requests).toHaveLength(2)
    expect(requests[1]?.atMs).toBeGreaterThan(beforeMs)
    expect(await store.ledger()).toMatchObject({ delivered: 1, pending: 0 })
  })

  test('keeps a breaker open for at most its open time again', async () => {
    const { dispatcher, store, sender, clock } = answering(503)
    await dispatcher.add(eventsTo('crm', 50))
    await quiet()
    expect(sender.bodies).toHaveLength(10)
    sender.answer = () => answered(200)
    await clock.advance(openMs / 2)
    clock.jump(byMs)
    // An add makes the dispatcher read the clock after the step.
    await dispatcher.add(eventsTo('crm', 1, 'later'))
    await quiet()
    await clock.advance(openMs)
    const { delivered } = await store.ledger()
    expect(delivered).toBeGreaterThanOrEqual(41)
    await clock.advance(2 * hourMs)
    // After the step forward, the first attempts seem to be older than the window.
    const expired = byMs > 0 ? 10 : 0
    expect(await store.ledger()).toMatchObject({ delivered: 51 - expired, expired, pending: 0 })
  })

  test('causes no loop and loses nothing, in any state', async () => {
    const clock = new ManualClock(startMs)
    const sick = new ScriptedSender((count) => answered(count % 4 === 0 ? 200 : 503, '7'))
    const dead = new ScriptedSender(() => answered(500))
    const well = new ScriptedSender((count) => answered(count % 5 === 0 ? 503 : 200))
    const senders = [sick, dead, well]
    const targets = ['sick', 'dead', 'well'].map((id, index) => target(id, senders[index]!, 3))
    const { dispatcher, store, requests } = dispatching(targets, clock)
    let added = 0
    for (let step = 0; step < 20; step++) {
      for (const id of ['sick', 'dead', 'well']) {
        await dispatcher.add(eventsTo(id, 5, `${id}${step}`))
        added += 5
      }
      await clock.advance(13_000)
      const before = calls(store.counts)
      clock.jump(step % 2 === 0 ? byMs : -byMs)
      dispatcher.wake()
      await quiet()
      // The calls after a step are bounded by the requests that it causes.
      expect(calls(store.counts) - before).toBeLessThan(60)
    }
    for (const sender of senders) sender.answer = () => answered(200)
    const before = { calls: calls(store.counts), requests: requests.length }
    await clock.advance(2 * dayMs)
    const { ledger, counted } = await store.audit()
    expect(ledger).toMatchObject({ deliveries: added, pending: 0, failed: 0 })
    expect(ledger.delivered + ledger.expired).toBe(added)
    expect(counted).toMatchObject({ delivered: ledger.delivered, expired: ledger.expired })
    const made = requests.length - before.requests
    expect(calls(store.counts) - before.calls).toBeLessThan(5 * made + 100)
  })
})
