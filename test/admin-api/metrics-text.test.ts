import { expect, test } from 'vitest'
import { Metrics } from '../../src/admin-api/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { recordingRuntime, startMs } from '../support/recording-runtime.ts'

test('the metrics of thousands of destinations are written in parts, and once for concurrent readers', async () => {
  const { runtime } = recordingRuntime(new ManualClock(startMs))
  const metrics = new Metrics({ figures: () => undefined, runtime })
  for (let index = 0; index < 2_000; index++) {
    metrics.settled({
      messageId: 'm_1',
      type: 'track',
      destinationId: `d${index}`,
      state: 'delivered',
      attempts: 1,
      acceptedAtMs: startMs,
      reason: null,
    })
  }
  let turns = 0
  let isDone = false
  const count = (): void => {
    turns++
    if (!isDone) setImmediate(count)
  }
  count()
  const both = [metrics.text(), metrics.text()]
  expect(both[0]).toBe(both[1])
  const [text] = await Promise.all(both)
  isDone = true
  expect(turns).toBeGreaterThan(3)
  expect(text?.match(/^evroute_delivery_latency_seconds_count/gm)).toHaveLength(2_000)
})
