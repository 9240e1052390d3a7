import { expect, test } from 'vitest'
import { settledDelivery } from '../../src/delivery/settled-delivery.ts'
import { startMs } from '../support/recording-runtime.ts'
import { leased } from './samples.ts'

const acceptedAtMs = startMs - 90_000
const common = { messageId: 'm_1', type: 'track', destinationId: 'crm', attempts: 3, acceptedAtMs }

test.each(['first', 'retry', 'manual'] as const)(
  'a delivery in the lane %s reports when its event was accepted',
  (lane) => {
    const delivery = leased({ lane, acceptedAtMs, firstAttemptAtMs: startMs - 5_000 })
    const settled = settledDelivery({ kind: 'delivered', delivery, attempts: 3 })
    expect(settled).toEqual({ ...common, state: 'delivered', reason: null })
  },
)

test.each(['failed', 'expired'] as const)('a delivery that %s reports why', (kind) => {
  const delivery = leased({ acceptedAtMs })
  const settled = settledDelivery({ kind, delivery, attempts: 3, reason: 'status_404' })
  expect(settled).toEqual({ ...common, state: kind, reason: 'status_404' })
})
