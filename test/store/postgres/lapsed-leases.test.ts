import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import type { LeasedDelivery, Settlement } from '../../../src/delivery/index.ts'
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import {
  delivered,
  ended,
  event,
  nowMs,
  retried,
  returned,
} from '../../conformance/store-under-test.ts'
import { PostgresDatabases } from '../../support/postgres.ts'

vi.setConfig({ testTimeout: 180_000 })

const databases = new PostgresDatabases()
const leaseMs = 100

/** The expected state of a delivery by the rules of the port. */
interface Known {
  state: 'pending' | 'delivered' | 'failed'
  attempts: number
  /** The last lease and its process; undefined once it is settled. */
  lease: { readonly process: number; readonly delivery: LeasedDelivery } | undefined
}

const settlements = {
  delivered,
  failed: (delivery: LeasedDelivery): Settlement => ended('failed', delivery),
  retry: (delivery: LeasedDelivery): Settlement => retried(delivery, nowMs),
  returned: (delivery: LeasedDelivery): Settlement => returned(delivery, nowMs),
}

const step = fc.oneof(
  fc.record({ kind: fc.constant('claim' as const), process: fc.nat(2), afterMs: fc.nat(150) }),
  fc.record({
    kind: fc.constant('settle' as const),
    process: fc.nat(2),
    as: fc.constantFrom('delivered', 'delivered', 'failed', 'retry', 'returned'),
    held: fc.nat(20),
  }),
)

/** Applies a settlement to the expected state; returns whether it takes effect. */
function settle(known: Known, settlement: Settlement, process: number): boolean {
  const { kind, delivery } = settlement
  const isHeld = known.lease?.process === process && known.lease.delivery === delivery
  const isLate = kind === 'delivered' && known.attempts === delivery.attempts
  if (known.state !== 'pending' || !(isHeld || isLate)) return false
  if (kind === 'delivered' || kind === 'failed') known.state = kind
  if (kind !== 'returned') known.attempts++
  known.lease = undefined
  return true
}

test('settlements of expired leases take effect as the port documents, in any order', async () => {
  const run = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
    const url = await databases.emptiedUrl()
    const stores = await Promise.all([0, 1, 2].map(() => openPostgresStore(url, { leaseMs })))
    const known = new Map<number, Known>()
    const held: LeasedDelivery[][] = [[], [], []]
    let atMs = nowMs
    try {
      const events = Array.from({ length: 6 }, (_, index) => event(`m_${index}`, 'crm'))
      await stores[0]!.add({ nowMs, seenSinceMs: 0, events, handOver: [] })
      const listed = await stores[0]!.list({ filter: {}, limit: 10 })
      for (const { id } of listed)
        known.set(id, { state: 'pending', attempts: 0, lease: undefined })
      for (const next of steps) {
        const store = stores[next.process]!
        const own = held[next.process]!
        if (next.kind === 'claim') {
          atMs += next.afterMs
          const shares = (['first', 'retry'] as const).map((lane) => ({
            destinationId: 'crm',
            lane,
            dueByMs: atMs,
            deliveriesMax: 2,
          }))
          for (const delivery of await store.claim({ nowMs: atMs, shares })) {
            known.get(delivery.id)!.lease = { process: next.process, delivery }
            own.push(delivery)
          }
          continue
        }
        const [delivery] = own.splice(next.held % Math.max(own.length, 1), 1)
        if (delivery === undefined) continue
        const settlement = settlements[next.as](delivery)
        const counts = settle(known.get(delivery.id)!, settlement, next.process)
        const effective = await store.settle({
          nowMs: atMs,
          settlements: [settlement],
          requests: [],
        })
        expect(effective).toEqual(counts ? [settlement] : [])
      }
      const ledger = { delivered: 0, failed: 0, pending: 0 }
      for (const { state } of known.values()) ledger[state]++
      expect(await stores[0]!.ledger()).toMatchObject(ledger)
      const { counted } = await stores[0]!.audit()
      expect(counted).toMatchObject(ledger)
    } finally {
      await Promise.all(stores.map((store) => store.close()))
    }
  })
  await fc.assert(run, { numRuns: 15 })
})
