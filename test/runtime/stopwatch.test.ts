import { expect, test } from 'vitest'
import { sleep, stopwatch, systemClock } from '../../src/runtime/index.ts'

test('stopwatch measures real time with fractions', async () => {
  const elapsedMs = stopwatch()
  const firstMs = elapsedMs()
  await sleep(systemClock, 5)
  const secondMs = elapsedMs()
  expect(firstMs).toBeGreaterThanOrEqual(0)
  expect(secondMs).toBeGreaterThan(firstMs)
  expect(Number.isInteger(firstMs) && Number.isInteger(secondMs)).toBe(false)
})
