import { afterEach, beforeEach, describe } from 'vitest'
import type { Store } from '../../src/store/index.ts'
import { createSuite } from './regulation-store-create.ts'
import { eraseSuite } from './regulation-store-erase.ts'
import { leasedSuite } from './regulation-store-leased.ts'
import { notificationSuite } from './regulation-store-notifications.ts'
import { readSuite } from './regulation-store-read.ts'
import { suppressSuite } from './regulation-store-suppress.ts'
import { tracesSuite, type FindText } from './regulation-store-traces.ts'
import { RegulationsUnderTest } from './regulation-store-under-test.ts'

/**
 * Tests the RegulationStore port for one engine.
 *
 * @param open - opens an empty store, which the suite closes
 * @param find - searches the tables of the store that was opened last; without it, traces are not tested
 */
export function regulationStoreSuite(
  name: string,
  open: () => Promise<Store>,
  find?: FindText,
): void {
  describe(`${name} implements the RegulationStore port`, () => {
    const tested = new RegulationsUnderTest(open)
    beforeEach(() => tested.begin())
    afterEach(() => tested.end())

    createSuite(tested)
    suppressSuite(tested)
    eraseSuite(tested)
    leasedSuite(tested)
    notificationSuite(tested)
    readSuite(tested)
    if (find !== undefined) tracesSuite(tested, find)
  })
}
