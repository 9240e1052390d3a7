import { join } from 'node:path'
import { ThreadedStore } from '../../../src/store/threaded/threaded-store.ts'
import { audienceStoreSuite } from '../../conformance/audience-store.ts'
import { deliveryStoreSuite } from '../../conformance/delivery-store.ts'
import { regulationStoreSuite } from '../../conformance/regulation-store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { startSharedThread } from './shared-threads.ts'

async function open(): Promise<ThreadedStore> {
  return ThreadedStore.open(join(await temporaryFolder(), 'store.db'), startSharedThread)
}

deliveryStoreSuite('ThreadedStore', open, { modelRuns: 20 })
audienceStoreSuite('ThreadedStore', open)
regulationStoreSuite('ThreadedStore', open)
