import { expect, test } from 'vitest'
import { FlushTimer } from '../../src/client/flush-timer.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { startMs } from './support.ts'

function timerOn(clock: ManualClock) {
  const flushes: number[] = []
  const timer = new FlushTimer({
    clock,
    afterMs: 5_000,
    flush: () => {
      flushes.push(clock.nowMs() - startMs)
      timer.flushed()
    },
  })
  return { timer, flushes }
}

test('FlushTimer flushes when its interval since the last flush is over', async () => {
  const clock = new ManualClock(startMs)
  const { timer, flushes } = timerOn(clock)
  await clock.advance(2_000)
  timer.arm()
  await clock.advance(1_000)
  timer.arm()
  await clock.advance(10_000)
  expect(flushes).toEqual([5_000])
  // The last flush was long ago, so this one is due.
  timer.arm()
  await clock.advance(0)
  timer.arm()
  await clock.advance(20_000)
  expect(flushes).toEqual([5_000, 13_000, 18_000])
})

test('FlushTimer waits again after a flush it did not start, and only while armed', async () => {
  const clock = new ManualClock(startMs)
  const { timer, flushes } = timerOn(clock)
  timer.arm()
  await clock.advance(4_000)
  timer.flushed()
  expect(clock.nextDueMs()).toBeUndefined()
  timer.arm()
  await clock.advance(4_999)
  expect(flushes).toEqual([])
  await clock.advance(1)
  expect(flushes).toEqual([9_000])
})

test('FlushTimer waits no longer than its interval when the clock is set back', async () => {
  const clock = new SettableClock(startMs)
  const { timer, flushes } = timerOn(clock)
  clock.offsetMs = -3_600_000
  timer.arm()
  await clock.advance(5_000)
  expect(flushes).toHaveLength(1)
})

class SettableClock extends ManualClock {
  offsetMs = 0

  override nowMs(): number {
    return super.nowMs() + this.offsetMs
  }
}
