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
 * What every engine of the DeliveryStore and DeliveryLog ports promises.
 *
 * Between giving a delivery out and settling it no test lets more than seconds pass: an engine's leases
 * may end by time.
 *
 * @param open - opens an empty store, which the suite closes
 * @param modelRuns - how many random sequences of operations are compared with the reference: fewer where
 *   each takes long
 */
export function deliveryStoreSuite(
  name: string,
  open: () => Promise<DeliveryStore>,
  { modelRuns = 100 }: { readonly modelRuns?: number } = {},
): void {
  describe(`${name} keeps the promises of the DeliveryStore port`, () => {
    describe('in', () => {
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

    test('agrees with a simple reference after any operations', () =>
      checkAgainstModel(open, modelRuns))
  })
}
