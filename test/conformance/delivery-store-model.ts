import fc from 'fast-check'
import type { DeliveryFilter, DeliveryStore, Room } from '../../src/delivery/index.ts'
import {
  Add,
  Claim,
  destinationIds,
  Purge,
  Read,
  Retry,
  Settle,
  SettleAgain,
  type Ages,
  type Ending,
  type PlannedEvent,
  type PlannedShare,
  type Real,
} from './delivery-store-operations.ts'
import { Reference } from './delivery-store-reference.ts'

const messageIds = ['m_1', 'm_2', 'm_3', 'm_4', 'm_5', 'm_6', 'm_7', 'm_8'] as const
const types = ['identify', 'track', 'page'] as const
const states = ['pending', 'delivered', 'failed', 'expired'] as const
const lanes = ['first', 'retry', 'manual'] as const

const plannedEvent: fc.Arbitrary<PlannedEvent> = fc.record({
  sourceId: fc.constantFrom('website', 'app'),
  messageId: fc.constantFrom(...messageIds),
  type: fc.constantFrom(...types),
  destinations: fc.subarray([...destinationIds]),
})

const handOver: fc.Arbitrary<readonly Room[]> = fc.uniqueArray(
  fc.record({ destinationId: fc.constantFrom(...destinationIds), deliveriesMax: fc.nat(3) }),
  { selector: ({ destinationId }) => destinationId, maxLength: 2 },
)

const plannedShare: fc.Arbitrary<PlannedShare> = fc.record({
  destinationId: fc.constantFrom(...destinationIds),
  lane: fc.constantFrom(...lanes),
  deliveriesMax: fc.nat(4),
  aheadMs: fc.oneof(fc.constant(0), fc.integer({ min: -30, max: 300 })),
})

const plannedShares: fc.Arbitrary<readonly PlannedShare[]> = fc.uniqueArray(plannedShare, {
  selector: ({ destinationId, lane }) => `${destinationId} ${lane}`,
  minLength: 1,
})

const ending: fc.Arbitrary<Ending> = fc.record({
  kind: fc.constantFrom('delivered', 'failed', 'expired', 'retry', 'retry', 'returned'),
  lease: fc.nat(20),
  delayMs: fc.integer({ min: -20, max: 200 }),
  requests: fc.nat(2),
})

const filter: fc.Arbitrary<DeliveryFilter> = fc.record(
  {
    destinationId: fc.constantFrom(...destinationIds),
    messageId: fc.constantFrom(...messageIds),
    states: fc.subarray([...states], { minLength: 1 }),
    types: fc.subarray([...types], { minLength: 1 }),
  },
  { requiredKeys: [] },
)

const age: fc.Arbitrary<number> = fc.oneof(fc.constant(-1), fc.nat(150), fc.constant(1_000_000))
const ages: fc.Arbitrary<Ages> = fc.record({
  delivered: age,
  failed: age,
  abandoned: age,
  messageIds: age,
})

const operations = fc.commands(
  [
    fc
      .tuple(fc.array(plannedEvent, { maxLength: 6 }), handOver, fc.constantFrom(20, 1_000_000))
      .map((planned) => new Add(...planned)),
    fc.tuple(plannedShares, fc.nat(30)).map((planned) => new Claim(...planned)),
    fc.array(ending, { maxLength: 6 }).map((endings) => new Settle(endings)),
    fc.constant(new SettleAgain()),
    fc.tuple(filter, fc.constantFrom(0, 0, 0, 20)).map((planned) => new Retry(...planned)),
    ages.map((given) => new Purge(given)),
    filter.map((conditions) => new Read(conditions)),
  ],
  { maxCommands: 40, size: 'max' },
)

/** Runs random operations on an engine and on the reference, which must agree after each operation. */
export async function checkAgainstModel(
  open: () => Promise<DeliveryStore>,
  numRuns: number,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(operations, async (commands) => {
      const store = await open()
      const setup = (): { model: Reference; real: Real } => ({
        model: new Reference(),
        real: { store, leases: [], ended: [] },
      })
      try {
        await fc.asyncModelRun(setup, commands)
      } finally {
        await store.close()
      }
    }),
    { numRuns },
  )
}
