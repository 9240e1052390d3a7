import { describe, expect, test } from 'vitest'
import { defaultBreakerPolicy } from '../../src/delivery/index.ts'
import { ManualClock, sleep } from '../../src/runtime/index.ts'
import { gate } from '../support/gate.ts'
import { startMs } from '../support/recording-runtime.ts'
import {
  claimAll,
  dispatching,
  eventsTo,
  HookedStore,
  pair,
  quiet,
  ScriptedSender,
  target,
} from './dispatching.ts'
import { answered, urlOf } from './samples.ts'

const { earlyProbeEveryMs, openMs, openMsMax } = defaultBreakerPolicy
const hourMs = 60 * 60 * 1_000
const crmUrl = 'https://example.com/crm'

/** Creates a dispatcher with one endpoint, whose status a test sets. */
function changing(status: number, concurrency = 1) {
  const clock = new ManualClock(startMs)
  const state = { status }
  const sender = new ScriptedSender(() => answered(state.status))
  return { ...dispatching([target('crm', sender, concurrency)], clock), clock, sender, state }
}

describe('an endpoint that fails', () => {
  test('gets nothing more after ten failures in a row', async () => {
    const { dispatcher, store, sender, endpoints } = changing(503)
    await dispatcher.add(eventsTo('crm', 200))
    await quiet()
    expect(sender.bodies).toHaveLength(10)
    const probeAtMs = startMs + openMs
    const opened = { destinationId: 'crm', url: crmUrl, state: 'open', probeAtMs }
    expect(endpoints).toEqual([{ ...opened, error: 'status_503' }])
    expect(await store.ledger()).toMatchObject({ pending: 200 })
  })

  test.each([2, 10])(
    'gets only the requests that were in flight by then (%i at once)',
    async (concurrency) => {
      const { dispatcher, sender, clock } = changing(503, concurrency)
      await dispatcher.add(eventsTo('crm', 200))
      await clock.advance(openMs - 1)
      expect(sender.bodies.length).toBeGreaterThanOrEqual(10)
      expect(sender.bodies.length).toBeLessThan(10 + concurrency)
    },
  )

  test('gets nothing more if 70 % of its requests fail', async () => {
    const clock = new ManualClock(startMs)
    const good = new Set([3, 6, 9])
    const sender = new ScriptedSender((count) => answered(good.has(count) ? 200 : 503))
    const { dispatcher, endpoints } = dispatching([target('crm', sender, 1)], clock)
    await dispatcher.add(eventsTo('crm', 100))
    await quiet()
    expect(sender.bodies).toHaveLength(10)
    expect(endpoints).toMatchObject([{ state: 'open' }])
  })

  test('still gets requests if fewer fail', async () => {
    const clock = new ManualClock(startMs)
    const sender = new ScriptedSender((count) => answered(count % 3 === 1 ? 200 : 503))
    const { dispatcher, endpoints } = dispatching([target('crm', sender, 1)], clock)
    await dispatcher.add(eventsTo('crm', 60))
    for (let wait = 0; wait < 10; wait++) await quiet()
    expect(sender.bodies).toHaveLength(60)
    expect(endpoints).toEqual([])
  })
})

describe('deliveries behind an open breaker', () => {
  test('wait in the store without an attempt, and are not claimed', async () => {
    const { dispatcher, store, clock } = changing(503)
    await dispatcher.add(eventsTo('crm', 200))
    await quiet()
    const counts = { ...store.counts }
    await clock.advance(openMs - 1)
    expect(store.counts).toEqual(counts)
    const all = await store.list({ filter: {}, limit: 1_000 })
    expect(all.filter(({ attempts }) => attempts === 1)).toHaveLength(10)
    const untried = { attempts: 0, windowAttempts: 0, firstAttemptAtMs: null, lane: 'first' }
    expect(all.filter(({ attempts }) => attempts === 0)).toHaveLength(190)
    for (const one of all.filter(({ attempts }) => attempts === 0)) {
      expect(one).toMatchObject({ ...untried, dueAtMs: startMs })
    }
  })

  test('are not leased, so any process can claim them', async () => {
    const { dispatcher, store } = changing(503, 10)
    await dispatcher.add(eventsTo('crm', 25))
    await quiet()
    const untried = await store.list({ filter: { states: ['pending'] }, limit: 100 })
    const count = untried.filter(({ attempts }) => attempts === 0).length
    expect(count).toBeGreaterThan(0)
    const waiting = { destinationId: 'crm', lane: 'first', dueByMs: startMs } as const
    expect(await claimAll(store, waiting)).toHaveLength(count)
  })

  test('keep new ones waiting with them, without a hand-over', async () => {
    const { dispatcher, store, sender } = changing(503)
    await dispatcher.add(eventsTo('crm', 10))
    await quiet()
    const { settle } = store.counts
    for (let time = 0; time < 5; time++) await dispatcher.add(eventsTo('crm', 5, `later${time}`))
    await quiet()
    expect(sender.bodies).toHaveLength(10)
    expect(store.counts.settle).toBe(settle)
    expect(await store.ledger()).toMatchObject({ pending: 35 })
  })

  test('are claimed one by one for probes, and stay available to other processes', async () => {
    const { dispatcher, store, clock, sender } = changing(503, 10)
    await dispatcher.add(eventsTo('crm', 300))
    await quiet()
    const untried = 300 - sender.bodies.length
    const { opened, open } = gate()
    sender.answer = () => opened.then(() => answered(503))
    await clock.advance(openMs)
    expect(sender.inFlight).toBe(1)
    const waiting = { destinationId: 'crm', lane: 'first', dueByMs: startMs } as const
    expect((await claimAll(store, waiting)).length).toBeGreaterThanOrEqual(untried - 2)
    open()
  })

  test('send one probe after 30 s, then after twice as long, up to five minutes', async () => {
    const { dispatcher, sender, clock, requests } = changing(503)
    await dispatcher.add(eventsTo('crm', 200))
    await clock.advance(30 * 60_000)
    const [, ...probes] = [...new Set(requests.map(({ atMs }) => atMs - startMs))]
    const expected = [30, 90, 210, 450, 750, 1_050, 1_350, 1_650].map((s) => s * 1_000)
    expect(probes).toEqual(expected)
    expect(sender.bodies).toHaveLength(10 + probes.length)
    expect(openMsMax).toBe(300_000)
  })

  test('are sent again once a probe succeeds, with more and more requests at once', async () => {
    const { dispatcher, store, sender, clock, state, endpoints } = changing(503, 10)
    const { opened, open } = gate()
    await dispatcher.add(eventsTo('crm', 300))
    await quiet()
    state.status = 200
    const inFlight: number[] = []
    sender.answer = async () => {
      inFlight.push(sender.inFlight)
      if (sender.bodies.length > 100) await opened
      return answered(200)
    }
    await clock.advance(openMs)
    // The probe, then one, then two at once, and so on.
    expect(inFlight.slice(0, 2)).toEqual([1, 1])
    for (const [index, count] of inFlight.entries()) expect(count).toBeLessThanOrEqual(index + 1)
    expect(Math.max(...inFlight)).toBe(10)
    expect(endpoints.map(({ state: now }) => now)).toEqual(['open', 'recovering', 'closed'])
    expect(endpoints.at(-1)).toEqual({
      destinationId: 'crm',
      url: crmUrl,
      state: 'closed',
      probeAtMs: null,
      error: null,
    })
    open()
    await clock.advance(hourMs)
    expect(await store.ledger()).toMatchObject({ delivered: 300, pending: 0 })
  })

  test('wait 30 s again after the breaker was closed', async () => {
    const { dispatcher, clock, state, endpoints } = changing(503)
    await dispatcher.add(eventsTo('crm', 20, 'a'))
    await clock.advance(openMs)
    state.status = 200
    await clock.advance(hourMs)
    state.status = 503
    await dispatcher.add(eventsTo('crm', 20, 'b'))
    await quiet()
    const opened = endpoints.filter(({ state: now }) => now === 'open')
    expect(opened.map(({ probeAtMs }) => (probeAtMs ?? 0) - startMs)).toEqual([
      openMs,
      3 * openMs,
      openMs + hourMs + openMs,
    ])
  })
})

describe('a second endpoint that is healthy', () => {
  test('gets every delivery at once, while the first one is blocked', async () => {
    const clock = new ManualClock(startMs)
    const sent: string[] = []
    const sender = new ScriptedSender((_, { url }) => {
      sent.push(url)
      return answered(url === urlOf('a') ? 503 : 200)
    })
    const { dispatcher, store } = dispatching([pair(sender, 1)], clock)
    await dispatcher.add(eventsTo('crm', 100))
    await dispatcher.idle()
    expect(await store.ledger()).toMatchObject({ delivered: 100 })
    expect(sent.filter((url) => url === urlOf('a'))).toHaveLength(10)
    expect(sent.filter((url) => url === urlOf('b'))).toHaveLength(100)
  })

  test('does not get a delivery again after refusing it for good, and the delivery waits for the first one', async () => {
    const clock = new ManualClock(startMs)
    let statusOfA = 503
    const sent: [string, string][] = []
    const sender = new ScriptedSender((_, { url, body }) => {
      sent.push([url, body])
      return answered(url === urlOf('a') ? statusOfA : 404)
    })
    const { dispatcher, store, requests } = dispatching([pair(sender, 1)], clock)
    await dispatcher.add(eventsTo('crm', 15))
    await clock.advance(openMs - 1)
    // Ten deliveries open the breaker. Only the second endpoint gets the others, and refuses them.
    expect(sent.filter(([url]) => url === urlOf('a'))).toHaveLength(10)
    expect(sent.filter(([url]) => url === urlOf('b'))).toHaveLength(15)
    statusOfA = 200
    await clock.advance(hourMs)
    expect(sent.filter(([url]) => url === urlOf('b'))).toHaveLength(15)
    expect(
      new Set(requests.filter(({ status }) => status === 200).map((r) => r.messageId)).size,
    ).toBe(15)
    expect(await store.ledger()).toMatchObject({ delivered: 15, pending: 0 })
  })
})

describe('a manual retry', () => {
  test('probes an open breaker, which lets the other deliveries through if it succeeds', async () => {
    const { dispatcher, store, sender, state, endpoints, requests, clock } = changing(503)
    await dispatcher.add(eventsTo('crm', 200))
    await quiet()
    const retry = async (messageId: string): Promise<void> => {
      expect(await store.retry({ nowMs: startMs, filter: { messageId }, limit: 1 })).toMatchObject({
        deliveries: 1,
      })
      dispatcher.wake()
      for (let wait = 0; wait < 10; wait++) await quiet()
    }
    await retry('e_1')
    expect(sender.bodies).toHaveLength(11)
    expect(requests.at(-1)).toMatchObject({ messageId: 'e_1', lane: 'manual', attempt: 2 })
    expect(endpoints).toMatchObject([{ state: 'open' }])
    state.status = 200
    await retry('e_2')
    expect(sender.bodies).toHaveLength(11)
    await clock.advance(earlyProbeEveryMs)
    for (let wait = 0; wait < 10; wait++) await quiet()
    expect(await store.ledger()).toMatchObject({ delivered: 200, pending: 0 })
    expect(endpoints).toMatchObject([{ state: 'open' }, { state: 'closed' }])
  })

  test('of many deliveries does not get around an open breaker: one probes every 10 s', async () => {
    const { dispatcher, store, clock, requests } = changing(503, 10)
    await dispatcher.add(eventsTo('crm', 500))
    await quiet()
    const opening = requests.length
    await store.retry({ nowMs: startMs, filter: {}, limit: 500 })
    dispatcher.wake()
    await clock.advance(openMs - 1)
    const probedAfterMs = requests.slice(opening).map(({ atMs }) => atMs - startMs)
    expect(probedAfterMs).toEqual([0, earlyProbeEveryMs, 2 * earlyProbeEveryMs])
  })

  test('of many deliveries yields to first tries, except every fifth time', async () => {
    const { dispatcher, store, sender, requests, clock } = changing(404, 10)
    await dispatcher.add(eventsTo('crm', 400))
    for (let wait = 0; wait < 10; wait++) await quiet()
    const before = requests.length
    await store.retry({ nowMs: startMs, filter: { states: ['failed'] }, limit: 400 })
    sender.answer = async () => {
      await sleep(clock, 5)
      return answered(200)
    }
    await dispatcher.add(eventsTo('crm', 400, 'live'))
    dispatcher.wake()
    await clock.advance(60_000)
    const lanes = requests.slice(before).map(({ lane }) => lane)
    expect(lanes).toHaveLength(800)
    const untilLastLive = lanes.slice(0, lanes.lastIndexOf('first'))
    const manual = untilLastLive.filter((lane) => lane === 'manual')
    expect(manual.length).toBeLessThan(untilLastLive.length * 0.25)
  })
})

describe('a probe that fails', () => {
  test('expires deliveries that were due for a whole window, but no newer ones', async () => {
    const { dispatcher, store, clock, settled } = changing(503)
    await dispatcher.add(eventsTo('crm', 700, 'old'))
    await clock.advance(2 * hourMs)
    await dispatcher.add(eventsTo('crm', 20, 'young'))
    await clock.advance(2 * hourMs - 10 * 60_000)
    expect(settled.filter(({ attempts }) => attempts === 0)).toEqual([])
    const expired = () => settled.filter(({ attempts }) => attempts === 0)
    for (let minute = 0; minute < 20 && expired().length === 0; minute++) {
      await clock.advance(60_000)
    }
    // One probe expired all of them.
    const untried = expired()
    expect(untried.length).toBeGreaterThan(600)
    for (const one of untried) {
      expect(one).toMatchObject({ state: 'expired', reason: 'breaker_open, status_503' })
      expect(one.messageId).toMatch(/^old/)
    }
    const filter = { states: ['pending'] as const }
    const pending = await store.list({ filter, limit: 1_000 })
    const old = pending.filter(({ messageId }) => messageId.startsWith('old'))
    expect(old.every(({ attempts }) => attempts > 0)).toBe(true)
    expect(pending.length - old.length).toBeGreaterThanOrEqual(19)
    const { ledger, counted } = await store.audit()
    expect(ledger.deliveries).toBe(
      ledger.delivered + ledger.failed + ledger.expired + ledger.pending,
    )
    expect(counted.pending).toBe(ledger.pending)
  })

  test('expires nothing if the endpoint has not been down for long, however old the deliveries are', async () => {
    const clock = new ManualClock(startMs)
    const store = new HookedStore()
    const ok = new ScriptedSender(() => answered(503))
    const { dispatcher, add, settled } = dispatching([target('crm', ok)], clock, { store })
    await add('crm', 100)
    // No process delivers for 12 hours.
    await clock.advance(12 * hourMs)
    dispatcher.wake()
    await clock.advance(10 * 60_000)
    expect(settled).toEqual([])
    ok.answer = () => answered(200)
    await clock.advance(hourMs)
    expect(await store.ledger()).toMatchObject({ delivered: 100, pending: 0 })
  })

  test('does not affect a healthy endpoint of the destination', async () => {
    const clock = new ManualClock(startMs)
    const sender = new ScriptedSender((_, { url }) => answered(url === urlOf('a') ? 503 : 200))
    const { dispatcher, store } = dispatching([pair(sender, 1)], clock)
    for (let minute = 0; minute < 300; minute++) {
      await dispatcher.add(eventsTo('crm', 3, `at${minute}`))
      await clock.advance(60_000)
    }
    expect(await store.ledger()).toMatchObject({ delivered: 900, expired: 0 })
  })
})
