import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { ManualClock, sleep, systemClock } from '../../src/runtime/index.ts'

describe('sleep', () => {
  test('resolves to true when the time is over, and not before', async () => {
    const clock = new ManualClock(0)
    const outcomes: boolean[] = []
    const slept = sleep(clock, 10).then((outcome) => outcomes.push(outcome))
    await clock.advance(9)
    expect(outcomes).toEqual([])
    await clock.advance(1)
    await slept
    expect(outcomes).toEqual([true])
  })

  test('resolves to false as soon as the signal aborts, and leaves no task behind', async () => {
    const clock = new ManualClock(0)
    const abort = new AbortController()
    const slept = sleep(clock, 10, abort.signal)
    abort.abort()
    expect(await slept).toBe(false)
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('does not begin if the signal is already aborted', async () => {
    const clock = new ManualClock(0)
    expect(await sleep(clock, 10, AbortSignal.abort())).toBe(false)
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('leaves no listener on a signal that outlives it', async () => {
    const clock = new ManualClock(0)
    const { signal } = new AbortController()
    const slept = sleep(clock, 10, signal)
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    await clock.advance(10)
    expect(await slept).toBe(true)
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})

describe('systemClock', () => {
  test('runs tasks in the order of their times', async () => {
    const ran: string[] = []
    await new Promise<void>((resolve) => {
      systemClock.schedule(100, () => {
        ran.push('later')
        resolve()
      })
      systemClock.schedule(-1, () => ran.push('at once'))
    })
    expect(ran).toEqual(['at once', 'later'])
  })

  test('waits longer than the maximum delay of a timer', async () => {
    const ran: string[] = []
    const distant = systemClock.schedule(2 ** 40, () => ran.push('distant'))
    await sleep(systemClock, 2)
    distant.cancel()
    expect(ran).toEqual([])
  })

  test('does not run a cancelled task', async () => {
    const ran: string[] = []
    systemClock.schedule(0, () => ran.push('cancelled')).cancel()
    await sleep(systemClock, 2)
    expect(ran).toEqual([])
  })

  test('returns a time that does not go back, and ignores holds', () => {
    const beforeMs = systemClock.nowMs()
    systemClock.hold()()
    expect(systemClock.nowMs()).toBeGreaterThanOrEqual(beforeMs)
  })
})
