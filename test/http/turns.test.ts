import { expect, test } from 'vitest'
import { Turns } from '../../src/http/turns.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { startMs } from '../support/recording-runtime.ts'

/** Takes a turn, and reports when it has come. */
function taker(turns: Turns) {
  const controller = new AbortController()
  const state = { controller, hasTurn: false, failed: false }
  turns.take(controller).then(
    () => (state.hasTurn = true),
    () => (state.failed = true),
  )
  return state
}

test('the next caller gets its turn when one ends', async () => {
  const clock = new ManualClock(startMs)
  const turns = new Turns({ turnsMax: 1, clock })
  const [first, second, third] = [taker(turns), taker(turns), taker(turns)]
  await clock.advance(60_000)
  expect([first.hasTurn, second.hasTurn, third.hasTurn]).toEqual([true, false, false])
  turns.end(first.controller)
  await clock.advance(0)
  expect([second.hasTurn, third.hasTurn]).toEqual([true, false])
})

test('the oldest turn gives way to others, but not before its safe time is over', async () => {
  const clock = new ManualClock(startMs)
  const turns = new Turns({ turnsMax: 2, safeMs: 500, clock })
  const old = [taker(turns), taker(turns)]
  await clock.advance(300)
  const young = taker(turns)
  await clock.advance(199)
  expect([young.hasTurn, old[0]?.controller.signal.aborted]).toEqual([false, false])
  await clock.advance(1)
  expect([young.hasTurn, old[0]?.controller.signal.aborted]).toEqual([true, true])
  expect(old[1]?.controller.signal.aborted).toBe(false)
})

test('the oldest turn lasts while no other caller needs one', async () => {
  const clock = new ManualClock(startMs)
  const turns = new Turns({ turnsMax: 2, safeMs: 500, clock })
  const old = [taker(turns), taker(turns)]
  await clock.advance(60_000)
  expect(old.map(({ controller }) => controller.signal.aborted)).toEqual([false, false])
})

test('a caller that is aborted while it waits gets no turn', async () => {
  const clock = new ManualClock(startMs)
  const turns = new Turns({ turnsMax: 1, clock })
  const [first, second, third] = [taker(turns), taker(turns), taker(turns)]
  second.controller.abort()
  turns.end(second.controller)
  turns.end(first.controller)
  await clock.advance(0)
  expect([second.failed, second.hasTurn, third.hasTurn]).toEqual([true, false, true])
})
