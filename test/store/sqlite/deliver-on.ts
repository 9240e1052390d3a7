// Delivers from a store until it gets a SIGTERM, then prints the audit.
import type { LeasedDelivery, Settlement } from '../../../src/delivery/index.ts'
import type { Lane } from '../../../src/model/index.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { addAndLease } from '../../conformance/store-under-test.ts'

const nowMs = 1_000
const lanes: readonly Lane[] = ['first', 'retry', 'manual']

/** Settles deliveries as delivered, failed and retry, in turn. */
function settlementOf(delivery: LeasedDelivery, turn: number): Settlement {
  const attempts = delivery.attempts + 1
  if (turn % 3 === 0) return { kind: 'delivered', delivery, attempts }
  if (turn % 3 === 1) return { kind: 'failed', delivery, attempts, reason: 'status_404' }
  const progress = { attempts, windowAttempts: 1, firstAttemptAtMs: nowMs, holds: [] }
  const reason = 'status_503'
  return { kind: 'retry', delivery, dueAtMs: nowMs, expiresAtMs: nowMs, progress, reason }
}

const store = await SqliteStore.open(process.argv[2] ?? '')
const end = new AbortController()
process.on('SIGTERM', () => end.abort())

for (let round = 0; !end.signal.aborted; round++) {
  const events = ['a', 'b', 'c'].map((part) => ({
    sourceId: 'website',
    messageId: `m_${round}_${part}`,
    type: 'track' as const,
    userId: null,
    deliveries: ['ads', 'crm'].map((destinationId) => ({ destinationId, body: `{"n":${round}}` })),
  }))
  const handOver = [{ destinationId: 'ads', deliveriesMax: 1 }]
  const { leased } = await addAndLease(store, { nowMs, seenSinceMs: 0, events, handOver })
  const shares = ['ads', 'crm'].flatMap((destinationId) =>
    lanes.map((lane) => ({ destinationId, lane, deliveriesMax: 1, dueByMs: nowMs })),
  )
  const claimed = await store.claim({ nowMs, shares })
  const settlements = [...leased, ...claimed].map((one, index) => settlementOf(one, round + index))
  await store.settle({ nowMs, settlements, requests: [] })
  if (round === 3) process.stdout.write('delivering\n')
}
process.stdout.write(JSON.stringify(await store.audit()))
await store.close()
