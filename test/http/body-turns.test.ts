import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { BodyTurns } from '../../src/http/body-turns.ts'

const large = 500_000

/** Requests turns for bodies of these sizes, and records in which turn of the event loop each started. */
function requestTurns(turns: BodyTurns, sizes: readonly number[]) {
  let turn = 0
  const came: [size: number, turn: number][] = []
  for (const size of sizes) {
    const handle = () => came.push([size, turn])
    const wait = turns.wait(size)
    if (wait === undefined) handle()
    else void wait.then(handle)
  }
  return {
    came,
    /** Runs the event loop up to this turn. */
    after: async (count: number) => {
      while (turn < count) {
        turn++
        await nextTurn()
      }
      return came
    },
  }
}

test('bodies are handled immediately while the turn has time left', () => {
  const { came } = requestTurns(new BodyTurns(60_000), [large, 1, large])
  expect(came).toEqual([
    [large, 0],
    [1, 0],
    [large, 0],
  ])
})

test("once a turn's time is used up, every fourth turn handles one large body, and small ones go first", async () => {
  const { after } = requestTurns(new BodyTurns(0), [large, large + 1, large + 2, 1, 2])
  expect(await after(8)).toEqual([
    [large, 0],
    [1, 4],
    [2, 4],
    [large + 1, 4],
    [large + 2, 8],
  ])
})

test('many small bodies do not starve a large one', async () => {
  const sizes = Array.from({ length: 40 }, (_, index) => index)
  const { after } = requestTurns(new BodyTurns(0), [0, ...sizes, large])
  expect((await after(4)).at(-1)).toEqual([large, 4])
  expect((await after(8)).length).toBe(34)
  expect((await after(12)).length).toBe(42)
})

test('a turn without bodies resets the count', async () => {
  const turns = new BodyTurns(0)
  const { after } = requestTurns(turns, [large, large])
  await after(12)
  expect(turns.wait(large)).toBeUndefined()
})
