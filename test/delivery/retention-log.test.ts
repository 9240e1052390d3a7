import { expect, test } from 'vitest'
import { Retention } from '../../src/delivery/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { recordingRuntime, startMs } from '../support/recording-runtime.ts'

test('a purge logs the number of expired deliveries for each destination and reason', async () => {
  const { runtime, warnings } = recordingRuntime(new ManualClock(startMs))
  const expired = [
    { destinationId: 'crm', reason: 'abandoned', deliveries: 2 },
    { destinationId: 'mail', reason: 'abandoned', deliveries: 1 },
    { destinationId: 'crm', reason: 'window_over', deliveries: 4 },
    { destinationId: 'crm', reason: 'abandoned', deliveries: 3 },
  ] as const
  const results = [
    { rows: 10, expired },
    { rows: 0, expired: [] },
  ]
  const store = { purge: () => Promise.resolve(results.shift()!) }
  const retention = new Retention({ store, runtime })
  retention.start()
  await expect.poll(() => warnings).toHaveLength(3)
  await retention.stop()
  const message =
    'deliveries expired while they were waiting; send them again with ' +
    '`evroute deliveries retry --state expired --destination <id>`'
  expect(warnings).toEqual([
    { message, reason: 'abandoned', destination: 'crm', deliveries: 5 },
    { message, reason: 'abandoned', destination: 'mail', deliveries: 1 },
    { message, reason: 'window_over', destination: 'crm', deliveries: 4 },
  ])
})
