import { describe, expect, test } from 'vitest'
import {
  readSettleMessage,
  writeSettleMessage,
} from '../../../src/store/threaded/settle-message.ts'
import { delivered, nowMs, requestOf } from '../../conformance/store-under-test.ts'
import { leased } from '../../delivery/samples.ts'

const first = leased({ id: 1 })
const third = leased({ id: 3, attempts: 2, lane: 'retry' })
const failed = leased({ id: 2 })
const failure = { kind: 'failed', delivery: failed, attempts: 1, reason: 'status_404' } as const
const refusal = {
  ...requestOf(failed),
  outcome: 'final',
  status: 404,
  error: 'status_404',
} as const
const success = { outcome: 'success', status: 200, error: null, excerpt: 'ok' } as const
const batch = {
  nowMs,
  settlements: [failure, delivered(first), { ...delivered(third), attempts: 3 }],
  requests: [refusal, requestOf(first, success), { ...requestOf(third), attempt: 3 }],
}

describe('a message that settles deliveries', () => {
  test('has fewer fields for a first try that succeeded, and no texts of webhooks', () => {
    const { message } = writeSettleMessage(batch)
    expect(message.firstTries).toHaveLength(1)
    expect(message.settlements).toHaveLength(2)
    expect(message.requests).toHaveLength(2)
    expect(JSON.stringify(message)).not.toContain(JSON.stringify(first.body))
  })

  test('is read as it was written, first tries that succeeded first', () => {
    const { message, inOrder } = writeSettleMessage(batch)
    const [one, two, three] = [first, failed, third].map(
      ({ id, destinationId, lease, lane, acceptedAtMs, attempts }) => {
        return { id, destinationId, lease, lane, acceptedAtMs, attempts }
      },
    )
    expect(inOrder).toEqual([batch.settlements[1], batch.settlements[0], batch.settlements[2]])
    expect(readSettleMessage(message)).toEqual({
      nowMs,
      settlements: [
        { kind: 'delivered', delivery: one, attempts: 1 },
        { ...failure, delivery: two },
        { kind: 'delivered', delivery: three, attempts: 3 },
      ],
      requests: [requestOf(first, success), refusal, { ...requestOf(third), attempt: 3 }],
    })
  })
})
