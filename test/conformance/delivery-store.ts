import { afterEach, beforeEach, describe, test } from 'vitest'
import type { DeliveryStore } from '../../src/delivery/index.ts'
import { addSuite } from './delivery-store-add.ts'
import { ledgerSuite } from './delivery-store-ledger.ts'
import { claimSuite } from './delivery-store-claim.ts'
import { closeSuite } from './delivery-store-close.ts'
import { discardSuite } from './delivery-store-discard.ts'
import { logSuite } from './delivery-store-log.ts'
import { checkAgainstModel } from './delivery-store-model.ts'
import { purgeSuite } from './delivery-store-purge.ts'
import { retrySuite } from './delivery-store-retry.ts'
import { settleSuite } from './delivery-store-settle.ts'
import { StoreUnderTest } from './store-under-test.ts'

/**
 * Tests the DeliveryStore and DeliveryLog ports for one engine.
 *
 * Leases of an engine may expire, so no test takes longer than seconds to settle one.
 *
 * @param open - opens an empty store, which the suite closes
 * @param modelRuns - the number of random sequences of operations to compare with the reference; fewer for
 *   slow engines
 */
export function deliveryStoreSuite(
  name: string,
  open: () => Promise<DeliveryStore>,
  { modelRuns = 100 }: { readonly modelRuns?: number } = {},
): void {
  describe(`${name} implements the DeliveryStore port`, () => {
    describe('an open store', () => {
      const tested = new StoreUnderTest(open)
      beforeEach(() => tested.begin())
      afterEach(() => tested.end())

      addSuite(tested)
      claimSuite(tested)
      settleSuite(tested)
      logSuite(tested)
      retrySuite(tested)
      discardSuite(tested)
      purgeSuite(tested)
      ledgerSuite(tested)
    })

    closeSuite(open)

    test('agrees with a reference after random operations', () =>
      checkAgainstModel(open, modelRuns))
  })
}
