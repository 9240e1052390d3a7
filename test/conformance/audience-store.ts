import { afterEach, beforeEach, describe, test } from 'vitest'
import type { Store } from '../../src/store/index.ts'
import { audiencesSuite } from './audience-store-audiences.ts'
import { callsSuite } from './audience-store-calls.ts'
import { audiencesCloseSuite } from './audience-store-close.ts'
import { identitiesSuite } from './audience-store-identities.ts'
import { interruptionsSuite } from './audience-store-interruptions.ts'
import { listsSuite } from './audience-store-lists.ts'
import { membersSuite } from './audience-store-members.ts'
import { checkSyncsAgainstReference } from './audience-store-reference.ts'
import { suppressedSuite } from './audience-store-suppressed.ts'
import { AudiencesUnderTest } from './audience-store-under-test.ts'

/**
 * Tests the AudienceStore port for one engine. The suite of the DeliveryStore port tests deliveries.
 *
 * @param open - opens an empty store, which the suite closes
 */
export function audienceStoreSuite(name: string, open: () => Promise<Store>): void {
  describe(`${name} implements the AudienceStore port`, () => {
    describe('an open store', () => {
      const tested = new AudiencesUnderTest(open)
      beforeEach(() => tested.begin())
      afterEach(() => tested.end())

      audiencesSuite(tested)
      listsSuite(tested)
      identitiesSuite(tested)
      interruptionsSuite(tested)
      callsSuite(tested)
      suppressedSuite(tested)
      membersSuite(tested)
    })

    audiencesCloseSuite(open)

    test('sends exactly the differences between lists, however syncs are interrupted', () =>
      checkSyncsAgainstReference(open))
  })
}
