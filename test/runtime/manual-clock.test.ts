import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/runtime/index.ts'

const startMs = 1_000

describe('ManualClock', () => {
  test('stands still until it is advanced', async () => {
    const clock = new ManualClock(startMs)
    expect(clock.nowMs()).toBe(startMs)
    await clock.advance(250)
    expect(clock.nowMs()).toBe(1_250)
  })

  test('runs tasks in the order of their times, each at its own time', async () => {
    const clock = new ManualClock(startMs)
    const ran: [string, number][] = []
    const task = (name: string) => () => void ran.push([name, clock.nowMs()])
    clock.schedule(30, task('late'))
    clock.schedule(10, task('early'))
    clock.schedule(20, task('middle'))
    await clock.advance(100)
    expect(ran).toEqual([
      ['early', 1_010],
      ['middle', 1_020],
      ['late', 1_030],
    ])
  })

  test('runs tasks with the same time in the order in which they were scheduled', async () => {
    const clock = new ManualClock(startMs)
    const ran: string[] = []
    for (const name of ['a', 'b', 'c']) clock.schedule(10, () => ran.push(name))
    await clock.advance(10)
    expect(ran).toEqual(['a', 'b', 'c'])
  })

  test('tells only whole milliseconds, even if a task waits for a fraction of one', async () => {
    const clock = new ManualClock(startMs)
    const ran: number[] = []
    clock.schedule(10.25, () => ran.push(clock.nowMs()))
    await clock.advance(11)
    expect(ran).toEqual([1_011])
  })

  test('runs a task that is due exactly at the end, and none later', async () => {
    const clock = new ManualClock(startMs)
    const ran: string[] = []
    clock.schedule(10, () => ran.push('due'))
    clock.schedule(11, () => ran.push('later'))
    await clock.advance(10)
    expect(ran).toEqual(['due'])
    expect(clock.nextDueMs()).toBe(1_011)
  })

  test('runs tasks scheduled by other tasks if they are due in the same advance', async () => {
    const clock = new ManualClock(startMs)
    const ranAtMs: number[] = []
    const tick = (): void => {
      ranAtMs.push(clock.nowMs())
      clock.schedule(10, tick)
    }
    clock.schedule(10, tick)
    await clock.advance(35)
    expect(ranAtMs).toEqual([1_010, 1_020, 1_030])
    expect(clock.nowMs()).toBe(1_035)
  })

  test('lets asynchronous work of a task continue before it advances further', async () => {
    const clock = new ManualClock(startMs)
    const ranAtMs: number[] = []
    clock.schedule(10, () => {
      void Promise.resolve().then(() => {
        clock.schedule(5, () => ranAtMs.push(clock.nowMs()))
      })
    })
    await clock.advance(100)
    expect(ranAtMs).toEqual([1_015])
  })

  test('does not run a cancelled task, and ignores a second cancel', async () => {
    const clock = new ManualClock(startMs)
    const ran: string[] = []
    const timer = clock.schedule(10, () => ran.push('cancelled'))
    clock.schedule(5, () => ran.push('kept'))
    timer.cancel()
    timer.cancel()
    await clock.advance(100)
    expect(ran).toEqual(['kept'])
  })

  test('treats a negative delay as zero', async () => {
    const clock = new ManualClock(startMs)
    const ranAtMs: number[] = []
    clock.schedule(-50, () => ranAtMs.push(clock.nowMs()))
    expect(clock.nextDueMs()).toBe(startMs)
    await clock.advance(0)
    expect(ranAtMs).toEqual([startMs])
  })

  test('runNext jumps to the next task and runs it alone', () => {
    const clock = new ManualClock(startMs)
    const ran: string[] = []
    clock.schedule(20, () => ran.push('second'))
    clock.schedule(10, () => ran.push('first'))
    clock.runNext()
    expect(ran).toEqual(['first'])
    expect(clock.nowMs()).toBe(1_010)
    clock.runNext()
    clock.runNext()
    expect(ran).toEqual(['first', 'second'])
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('ignores holds', async () => {
    const clock = new ManualClock(startMs)
    const release = clock.hold()
    await clock.advance(10)
    expect(clock.nowMs()).toBe(1_010)
    release()
    expect(clock.nowMs()).toBe(1_010)
  })

  test.each([60_000, -60_000, 0])(
    'jumps by %i ms, and tasks keep their order and the rest of their wait',
    async (byMs) => {
      const clock = new ManualClock(startMs)
      const ran: [string, number][] = []
      const task = (name: string) => () => void ran.push([name, clock.nowMs()])
      clock.schedule(20, task('later'))
      clock.schedule(10, task('sooner'))
      await clock.advance(4)
      clock.jump(byMs)
      expect(clock.nowMs()).toBe(1_004 + byMs)
      expect(ran).toEqual([])
      await clock.advance(5)
      expect(ran).toEqual([])
      await clock.advance(11)
      expect(ran).toEqual([
        ['sooner', 1_010 + byMs],
        ['later', 1_020 + byMs],
      ])
    },
  )
})
