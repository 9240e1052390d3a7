import { describe, expect, test } from 'vitest'
import { Looks } from '../../src/delivery/looks.ts'
import { WaitingTimes } from '../../src/delivery/waiting-times.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { startMs } from '../support/recording-runtime.ts'

/** Looks at that many destinations, about which nothing must be asked; an answer takes 20 ms. */
function looksAt(count: number, answerMs = 20) {
  const ids = Array.from({ length: count }, (_, index) => `d${index}`)
  const clock = new ManualClock(startMs)
  const times = new WaitingTimes(ids)
  times.ask(ids)
  times.learn(ids, [])
  const asked: (readonly string[])[] = []
  const nextDue = ({ destinationIds }: { readonly destinationIds: readonly string[] }) => {
    asked.push(destinationIds)
    clock.jump(answerMs)
    return Promise.resolve([])
  }
  return { looks: new Looks({ store: { nextDue }, clock, times }), clock, times, asked }
}

describe('a look at all destinations', () => {
  test('is made of questions, and takes a tenth of the time', async () => {
    const { looks, clock, asked } = looksAt(1_000)
    looks.lookAtAll()
    for (let nowMs = 0; nowMs < 790; nowMs += 10) {
      await looks.ask()
      clock.jump(10)
    }
    expect(asked).toHaveLength(4)
    expect(new Set(asked.flat()).size).toBe(1_000)
    expect(looks.nextAtMs).toBeUndefined()
  })

  test('is finished before the next one begins, however often it is wanted', async () => {
    const { looks, asked } = looksAt(600, 0)
    for (let question = 0; question < 12; question++) {
      looks.lookAtAll()
      await looks.ask()
    }
    const counts = new Map<string, number>()
    for (const id of asked.flat()) counts.set(id, (counts.get(id) ?? 0) + 1)
    expect(asked).toHaveLength(12)
    expect([...new Set(counts.values())]).toEqual([4])
  })

  test('does not hold up what must be asked', async () => {
    const { looks, times, asked } = looksAt(300)
    looks.lookAtAll()
    await looks.ask()
    times.forget('d7', 'retry')
    expect(await looks.ask()).toBe(true)
    expect(asked.at(-1)).toEqual(['d7'])
    expect(await looks.ask()).toBe(false)
    expect(looks.nextAtMs).toBe(startMs + 20 + 180)
  })

  test.each([-3_600_000, 3_600_000])(
    'goes on soon after the clock was set by %i ms',
    async (byMs) => {
      const { looks, clock } = looksAt(600, Math.max(byMs, 0))
      looks.lookAtAll()
      await looks.ask()
      if (byMs < 0) clock.jump(byMs)
      else clock.jump(60_000)
      expect(await looks.ask()).toBe(true)
    },
  )
})
