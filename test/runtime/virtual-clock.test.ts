import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { sleep, VirtualClock } from '../../src/runtime/index.ts'

const startMs = 1_000
const hourMs = 3_600_000

/** Waits for more turns of the event loop than the clock does before it jumps. */
async function manyTurns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await nextTurn()
}

describe('VirtualClock', () => {
  test('jumps to each task in turn, so that hours take no time', async () => {
    const clock = new VirtualClock(startMs)
    await sleep(clock, hourMs)
    await sleep(clock, 2 * hourMs)
    expect(clock.nowMs()).toBe(startMs + 3 * hourMs)
  })

  test('jumps to the next of several tasks, not to the last', async () => {
    const clock = new VirtualClock(startMs)
    const ranAtMs: number[] = []
    clock.schedule(20, () => ranAtMs.push(clock.nowMs()))
    clock.schedule(10, () => ranAtMs.push(clock.nowMs()))
    await sleep(clock, 30)
    expect(ranAtMs).toEqual([1_010, 1_020])
  })

  test('stands still while something holds it', async () => {
    const clock = new VirtualClock(startMs)
    const release = clock.hold()
    const slept = sleep(clock, hourMs)
    await manyTurns()
    expect(clock.nowMs()).toBe(startMs)
    release()
    await slept
    expect(clock.nowMs()).toBe(startMs + hourMs)
  })

  test('stands still until the last of several holds is released', async () => {
    const clock = new VirtualClock(startMs)
    const releases = [clock.hold(), clock.hold()]
    const slept = sleep(clock, hourMs)
    releases[0]?.()
    await manyTurns()
    expect(clock.nowMs()).toBe(startMs)
    releases[1]?.()
    await slept
  })

  test('counts a hold once, however often it is released', async () => {
    const clock = new VirtualClock(startMs)
    const first = clock.hold()
    const second = clock.hold()
    const slept = sleep(clock, hourMs)
    first()
    first()
    await manyTurns()
    expect(clock.nowMs()).toBe(startMs)
    second()
    await slept
  })

  test('stands still when a hold begins while it is about to jump', async () => {
    const clock = new VirtualClock(startMs)
    const slept = sleep(clock, hourMs)
    await nextTurn()
    const release = clock.hold()
    await manyTurns()
    expect(clock.nowMs()).toBe(startMs)
    release()
    await slept
  })

  test('leaves time after a request for the next one to begin', async () => {
    const clock = new VirtualClock(startMs)
    const slept = sleep(clock, hourMs)
    await nextTurn()
    clock.hold()()
    await nextTurn()
    await nextTurn()
    const release = clock.hold()
    await manyTurns()
    expect(clock.nowMs()).toBe(startMs)
    release()
    await slept
  })

  test('does not jump to a cancelled task', async () => {
    const clock = new VirtualClock(startMs)
    const ran: string[] = []
    clock.schedule(10, () => ran.push('cancelled')).cancel()
    await manyTurns()
    expect(clock.nowMs()).toBe(startMs)
    await sleep(clock, 20)
    expect(ran).toEqual([])
  })

  test('runs tasks that other tasks schedule', async () => {
    const clock = new VirtualClock(startMs)
    const ranAtMs = await new Promise<number>((resolve) => {
      clock.schedule(10, () => clock.schedule(5, () => resolve(clock.nowMs())))
    })
    expect(ranAtMs).toBe(1_015)
  })

  test.each(['before', 'after'])(
    'cannot be held once its signal has aborted, %s the hold',
    async (when) => {
      const stop = new AbortController()
      const clock = new VirtualClock(startMs, stop.signal)
      if (when === 'before') stop.abort()
      clock.hold()
      const slept = sleep(clock, hourMs)
      if (when === 'after') {
        await manyTurns()
        expect(clock.nowMs()).toBe(startMs)
        stop.abort()
      }
      await slept
      expect(clock.nowMs()).toBe(startMs + hourMs)
    },
  )
})
