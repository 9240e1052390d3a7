import { describe, expect, test } from 'vitest'
import { DueTimeQueries } from '../../src/delivery/due-time-queries.ts'
import { WaitingTimes } from '../../src/delivery/waiting-times.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { startMs } from '../support/recording-runtime.ts'

/** DueTimeQueries at that many destinations, about which nothing must be asked; an answer takes 20 ms. */
function queriesOf(count: number, answerMs = 20) {
  const ids = Array.from({ length: count }, (_, index) => `d${index}`)
  const clock = new ManualClock(startMs)
  const times = new WaitingTimes()
  times.watch(ids)
  times.ask(ids)
  times.learn(ids, [])
  const asked: (readonly string[])[] = []
  const nextDue = ({ destinationIds }: { readonly destinationIds: readonly string[] }) => {
    asked.push(destinationIds)
    clock.jump(answerMs)
    return Promise.resolve([])
  }
  return { queries: new DueTimeQueries({ store: { nextDue }, clock, times }), clock, times, asked }
}

describe('a look at all destinations', () => {
  test('is made of questions, and takes a tenth of the time', async () => {
    const { queries, clock, asked } = queriesOf(1_000)
    queries.queryAll()
    for (let nowMs = 0; nowMs < 790; nowMs += 10) {
      await queries.ask()
      clock.jump(10)
    }
    expect(asked).toHaveLength(4)
    expect(new Set(asked.flat()).size).toBe(1_000)
    expect(queries.nextAtMs).toBeUndefined()
  })

  test('is finished before the next one begins, however often it is wanted', async () => {
    const { queries, asked } = queriesOf(600, 0)
    for (let question = 0; question < 12; question++) {
      queries.queryAll()
      await queries.ask()
    }
    const counts = new Map<string, number>()
    for (const id of asked.flat()) counts.set(id, (counts.get(id) ?? 0) + 1)
    expect(asked).toHaveLength(12)
    expect([...new Set(counts.values())]).toEqual([4])
  })

  test('does not hold up what must be asked', async () => {
    const { queries, times, asked } = queriesOf(300)
    queries.queryAll()
    await queries.ask()
    times.forget('d7', 'retry')
    expect(await queries.ask()).toBe(true)
    expect(asked.at(-1)).toEqual(['d7'])
    expect(await queries.ask()).toBe(false)
    expect(queries.nextAtMs).toBe(startMs + 20 + 180)
  })

  test.each([-3_600_000, 3_600_000])(
    'goes on soon after the clock was set by %i ms',
    async (byMs) => {
      const { queries, clock } = queriesOf(600, Math.max(byMs, 0))
      queries.queryAll()
      await queries.ask()
      if (byMs < 0) clock.jump(byMs)
      else clock.jump(60_000)
      expect(await queries.ask()).toBe(true)
    },
  )
})
