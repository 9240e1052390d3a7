// Adds deliveries to the given store and delivers them until it is killed. Reports manual retries, which it
// delivers too, as `by hand <messageId>`.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LeasedDelivery } from '../../../src/delivery/index.ts'
import { openStore } from '../../../src/store/index.ts'
import { addAndLease } from '../../conformance/store-under-test.ts'

const store = await openStore(process.argv[2] ?? '')
const nowMs = Date.UTC(2026, 0, 2)
const reportedRound = 20

for (let round = 1; ; round++) {
  const events = Array.from({ length: 10 }, (_, index) => ({
    sourceId: 'website',
    messageId: `m_${round}_${index}`,
    type: 'track' as const,
    userId: 'u_1',
    deliveries: [{ destinationId: 'crm', body: '{}' }],
  }))
  const handOver = [{ destinationId: 'crm', deliveriesMax: 10 }]
  const { leased } = await addAndLease(store, { nowMs, seenSinceMs: 0, events, handOver })
  const shares = [
    { destinationId: 'crm', lane: 'manual' as const, deliveriesMax: 10, dueByMs: Infinity },
  ]
  const byHand = await store.claim({ nowMs, shares })
  const settlements = [
    ...leased.map((delivery, index) => settlementOf(delivery, index)),
    ...byHand.map((delivery) => ({ kind: 'delivered' as const, delivery, attempts: 2 })),
  ]
  await store.settle({ nowMs, settlements, requests: [] })
  for (const { messageId } of byHand) process.stdout.write(`by hand ${messageId}\n`)
  if (round === reportedRound) process.stdout.write('delivering\n')
  await nextTurn()
}

function settlementOf(delivery: LeasedDelivery, index: number) {
  return index === 0
    ? { kind: 'failed' as const, delivery, attempts: 1, reason: 'status_404' }
    : { kind: 'delivered' as const, delivery, attempts: 1 }
}
