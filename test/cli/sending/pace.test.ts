import { describe, expect, test } from 'vitest'
import { Pace } from '../../../src/cli/sending/pace.ts'
import type { Clock } from '../../../src/runtime/index.ts'

/** A clock whose time moves only by waiting, and whose timers fire late. */
class LateClock implements Clock {
  #nowMs = 0
  readonly #latenessMs: number

  constructor(latenessMs: number) {
    this.#latenessMs = latenessMs
  }

  nowMs(): number {
    return this.#nowMs
  }

  pass(durationMs: number): void {
    this.#nowMs += durationMs
  }

  schedule(delayMs: number, task: () => void) {
    this.#nowMs += delayMs + this.#latenessMs
    queueMicrotask(task)
    return { cancel: () => undefined }
  }

  hold() {
    return () => undefined
  }
}

const { signal } = new AbortController()

describe('Pace', () => {
  test('meets its rate on average, although timers are late', async () => {
    const clock = new LateClock(0.6)
    const pace = new Pace(clock, 500)
    for (let turn = 0; turn < 5_000; turn++) await pace.turn(signal)
    expect(clock.nowMs()).toBeGreaterThan(9_990)
    expect(clock.nowMs()).toBeLessThan(10_010)
  })

  test('makes up for a delay of at most 100 ms', async () => {
    const clock = new LateClock(0)
    const pace = new Pace(clock, 100)
    await pace.turn(signal)
    clock.pass(60_000)
    let burst = 0
    for (const startMs = clock.nowMs(); clock.nowMs() === startMs; burst++) await pace.turn(signal)
    // The ten turns of 100 ms, the one that is due, and the one that had to wait.
    expect(burst).toBe(12)
  })
})
