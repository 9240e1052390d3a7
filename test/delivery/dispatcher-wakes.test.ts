import { expect, test } from 'vitest'
import { ManualClock, sleep, type Clock, type Timer } from '../../src/runtime/index.ts'
import { startMs } from '../support/recording-runtime.ts'
import { dispatching, eventsTo, ScriptedSender, target } from './dispatching.ts'
import { windowLimit } from './pace-simulation.ts'
import { answered } from './samples.ts'

/**
 * A clock that moves a millisecond ahead of a manual clock after a number of readings at one moment. Its timers
 * can fire a millisecond early, like those of a real clock.
 */
class PassingClock implements Clock {
  readonly #manual: ManualClock
  readonly #readingsBefore: number
  #moment = { atMs: 0, readings: 0 }

  constructor(manual: ManualClock, readingsBefore: number) {
    this.#manual = manual
    this.#readingsBefore = readingsBefore
  }

  nowMs(): number {
    const atMs = this.#manual.nowMs()
    if (atMs !== this.#moment.atMs) this.#moment = { atMs, readings: 0 }
    return this.#moment.readings++ < this.#readingsBefore ? atMs : atMs + 1
  }

  schedule(delayMs: number, task: () => void): Timer {
    return this.#manual.schedule(delayMs, task)
  }

  hold(): () => void {
    return this.#manual.hold()
  }
}

/** The dispatcher reads the clock fewer than 24 times at one moment. */
const readings = Array.from({ length: 24 }, (_, index) => index)

test.each(readings)(
  'an endpoint with a pace gets everything, even if a millisecond passes after %i readings of the clock',
  async (readingsBefore) => {
    const manual = new ManualClock(startMs)
    const clock = new PassingClock(manual, readingsBefore)
    const limit = windowLimit(20, '1')
    const sender = new ScriptedSender(async () => {
      await sleep(manual, 10)
      return limit(manual.nowMs())
    })
    const { dispatcher, store } = dispatching([target('crm', sender)], clock)
    await dispatcher.add(eventsTo('crm', 100))
    await manual.advance(30_000)
    expect(await store.ledger()).toMatchObject({ delivered: 100 })
  },
)

test.each(readings)(
  'retries and probes start, even if a millisecond passes after %i readings of the clock',
  async (readingsBefore) => {
    const manual = new ManualClock(startMs)
    const clock = new PassingClock(manual, readingsBefore)
    const sender = new ScriptedSender(async (count) => {
      await sleep(manual, 10)
      return answered(count <= 30 ? 503 : 200)
    })
    const { dispatcher, store } = dispatching([target('crm', sender)], clock)
    await dispatcher.add(eventsTo('crm', 40))
    await manual.advance(4 * 60 * 60 * 1_000)
    expect(await store.ledger()).toMatchObject({ delivered: 40 })
  },
)
