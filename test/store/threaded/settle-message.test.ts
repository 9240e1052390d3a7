import { expect, test } from 'vitest'
import { settleMessage } from '../../../src/store/threaded/threaded-store.ts'
import {
  deliveredAtOnce,
  ended,
  nowMs,
  requestOf,
  retried,
} from '../../conformance/store-under-test.ts'
import { leased } from '../../delivery/samples.ts'

const excerpt = 'odd \0 " \ud800'

test('a message that settles deliveries contains everything but their webhooks', () => {
  const [first, second, third] = [1, 2, 3].map((id) =>
    leased({ id, destinationId: `c\ud800 ${id}` }),
  )
  const settlements = [
    ended('failed', second!),
    deliveredAtOnce(first!, requestOf(first!, { excerpt })),
    retried(third!),
  ]
  const requests = [requestOf(second!), requestOf(third!, { excerpt, status: null })]
  const message = settleMessage({ nowMs, settlements, requests })
  expect(message).not.toContain(JSON.stringify(first!.body))
  expect(JSON.parse(message)).toEqual({
    nowMs,
    settlements: settlements.map((settlement) => {
      const { id, destinationId, lease, lane } = settlement.delivery
      return { ...settlement, delivery: { id, destinationId, lease, lane } }
    }),
    requests,
  })
})
