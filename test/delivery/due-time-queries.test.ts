import { describe, expect, test } from 'vitest'
import { DueTimeQueries } from '../../src/delivery/due-time-queries.ts'
import { WaitingTimes } from '../../src/delivery/waiting-times.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { startMs } from '../support/recording-runtime.ts'

/** Creates DueTimeQueries for destinations with known due times. An answer takes 20 ms. */
function queriesOf(count: number, answerMs = 20) {
  const ids = Array.from({ length: count }, (_, index) => `d${index}`)
  const clock = new ManualClock(startMs)
  const times = new WaitingTimes()
  times.watch(ids)
  times.ask(ids)
  times.learn(ids, [])
  const queried: (readonly string[])[] = []
  const nextDue = ({ destinationIds }: { readonly destinationIds: readonly string[] }) => {
    queried.push(destinationIds)
    clock.jump(answerMs)
    return Promise.resolve([])
  }
  return {
    queries: new DueTimeQueries({ store: { nextDue }, clock, times }),
    clock,
    times,
    queried,
  }
}

describe('a query of all destinations', () => {
  test('is split into several queries, which take a tenth of the time', async () => {
    const { queries, clock, queried } = queriesOf(1_000)
    queries.queryAll()
    for (let nowMs = 0; nowMs < 790; nowMs += 10) {
      await queries.query()
      clock.jump(10)
    }
    expect(queried).toHaveLength(4)
    expect(new Set(queried.flat()).size).toBe(1_000)
    expect(queries.nextAtMs).toBeUndefined()
  })

  test('is finished before the next one begins, however often it is requested', async () => {
    const { queries, queried } = queriesOf(600, 0)
    for (let question = 0; question < 12; question++) {
      queries.queryAll()
      await queries.query()
    }
    const counts = new Map<string, number>()
    for (const id of queried.flat()) counts.set(id, (counts.get(id) ?? 0) + 1)
    expect(queried).toHaveLength(12)
    expect([...new Set(counts.values())]).toEqual([4])
  })

  test('does not delay queries that are needed', async () => {
    const { queries, times, queried } = queriesOf(300)
    queries.queryAll()
    await queries.query()
    times.forget('d7', 'retry')
    expect(await queries.query()).toBe(true)
    expect(queried.at(-1)).toEqual(['d7'])
    expect(await queries.query()).toBe(false)
    expect(queries.nextAtMs).toBe(startMs + 20 + 180)
  })

  test.each([-3_600_000, 3_600_000])(
    'continues soon after the clock was set by %i ms',
    async (byMs) => {
      const { queries, clock } = queriesOf(600, Math.max(byMs, 0))
      queries.queryAll()
      await queries.query()
      if (byMs < 0) clock.jump(byMs)
      else clock.jump(60_000)
      expect(await queries.query()).toBe(true)
    },
  )
})
