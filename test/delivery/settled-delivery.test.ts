import { expect, test } from 'vitest'
import { settledDelivery } from '../../src/delivery/settled-delivery.ts'
import { startMs } from '../support/recording-runtime.ts'
import { leased } from './samples.ts'

test.each([
  { name: 'since when it is due', lane: 'first', firstAttemptAtMs: null, acceptedAtMs: startMs },
  {
    name: 'when it was first tried, if the schedule retried it',
    lane: 'retry',
    firstAttemptAtMs: startMs - 5_000,
    acceptedAtMs: startMs - 5_000,
  },
  { name: 'nothing, if a person retried it', lane: 'manual', firstAttemptAtMs: startMs - 5_000 },
] as const)('a delivery tells of its acceptance $name', ({ lane, firstAttemptAtMs, ...told }) => {
  const delivery = leased({ lane, firstAttemptAtMs })
  const settled = settledDelivery({ kind: 'delivered', delivery, attempts: 1 })
  expect(settled.acceptedAtMs).toBe('acceptedAtMs' in told ? told.acceptedAtMs : undefined)
  expect(settled).toMatchObject({ messageId: 'm_1', state: 'delivered', reason: null })
})
