import { expect, test } from 'vitest'
import { defaultRetryPolicy } from '../../src/delivery/index.ts'
import { DestinationQueue } from '../../src/delivery/destination-queue.ts'
import { Prefetch } from '../../src/delivery/prefetch.ts'
import { queuePolicies } from '../../src/delivery/queue-policies.ts'
import { startMs } from '../support/recording-runtime.ts'
import { destinationOf } from './samples.ts'

test.each([
  { concurrency: 3, readyMin: 50, room: 50 },
  { concurrency: 30, readyMin: 50, room: 60 },
  // Nothing may be sent, so other processes should claim the deliveries.
  { concurrency: 0, readyMin: 50, room: 0 },
])('$concurrency requests at once and readyMin $readyMin make room for $room', (given) => {
  const policies = queuePolicies(defaultRetryPolicy, given, () => 0)
  const queue = new DestinationQueue(destinationOf(1, 3), policies, new Prefetch(Infinity))
  expect(queue.room('first', startMs)).toBe(given.room)
})
