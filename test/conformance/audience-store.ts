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
 * What every engine of the AudienceStore port promises, beside the deliveries that calls become.
 *
 * @param open - opens an empty store, which the suite closes
 */
export function audienceStoreSuite(name: string, open: () => Promise<Store>): void {
  describe(`${name} keeps the promises of the AudienceStore port`, () => {
    describe('in', () => {
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

    test('sends the differences of any lists, however syncs are interrupted', () =>
      checkSyncsAgainstReference(open))
  })
}
