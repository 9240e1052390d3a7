import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Breather, stopwatch } from '../../src/runtime/index.ts'

test('long work yields after a few milliseconds, but not between short parts', async () => {
  let turns = 0
  const others = nextTurn().then(() => turns++)
  const breather = new Breather()
  for (let part = 0; part < 5; part++) await breather.breathe()
  expect(turns).toBe(0)
  const elapsedMs = stopwatch()
  while (elapsedMs() < 10);
  await breather.breathe()
  expect(turns).toBe(1)
  await others
})
