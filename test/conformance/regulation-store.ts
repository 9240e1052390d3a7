import { afterEach, beforeEach, describe } from 'vitest'
import type { Store } from '../../src/store/index.ts'
import { createSuite } from './regulation-store-create.ts'
import { eraseSuite } from './regulation-store-erase.ts'
import { givenOutSuite } from './regulation-store-given-out.ts'
import { notificationSuite } from './regulation-store-notifications.ts'
import { readSuite } from './regulation-store-read.ts'
import { suppressSuite } from './regulation-store-suppress.ts'
import { tracesSuite, type FindText } from './regulation-store-traces.ts'
import { RegulationsUnderTest } from './regulation-store-under-test.ts'

/**
 * What every engine of the RegulationStore port promises.
 *
 * @param open - opens an empty store, which the suite closes
 * @param find - looks into the tables of the store that was opened last
 */
export function regulationStoreSuite(
  name: string,
  open: () => Promise<Store>,
  find?: FindText,
): void {
  describe(`${name} keeps the promises of the RegulationStore port`, () => {
    const tested = new RegulationsUnderTest(open)
    beforeEach(() => tested.begin())
    afterEach(() => tested.end())

    createSuite(tested)
    suppressSuite(tested)
    eraseSuite(tested)
    givenOutSuite(tested)
    notificationSuite(tested)
    readSuite(tested)
    if (find !== undefined) tracesSuite(tested, find)
  })
}
