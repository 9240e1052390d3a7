import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { StoppableClock } from '../../../src/cli/sending/pace.ts'
import { VirtualClock } from '../../../src/runtime/index.ts'

function start() {
  const stop = new AbortController()
  const clock = new StoppableClock(new VirtualClock(1_000), stop.signal)
  return { stop, clock }
}

/** Resolves once the clock has moved on. */
function tick(clock: StoppableClock): Promise<void> {
  return new Promise((resolve) => clock.schedule(1_000, resolve))
}

describe('StoppableClock', () => {
  test('stands still while it is held, and continues once the command is to end', async () => {
    const { stop, clock } = start()
    clock.hold()
    clock.hold()
    const ticked = tick(clock)
    expect(clock.nowMs()).toBe(1_000)
    stop.abort()
    await ticked
    expect(clock.nowMs()).toBe(2_000)
  })

  test('continues once every hold is released', async () => {
    const { clock } = start()
    const releases = [clock.hold(), clock.hold()]
    for (const release of releases) release()
    await tick(clock)
    expect(clock.nowMs()).toBe(2_000)
  })

  test('cannot be held once the command is to end', async () => {
    const { stop, clock } = start()
    stop.abort()
    clock.hold()
    await tick(clock)
    expect(clock.nowMs()).toBe(2_000)
  })

  test('listens to the signal once, however often it is held', () => {
    const { stop, clock } = start()
    for (let hold = 0; hold < 100; hold++) clock.hold()
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1)
  })
})
