import type { Store } from '../../../src/store/index.ts'
import { openThreadedStore } from '../../../src/store/threaded/threaded-store.ts'
import { audienceStoreSuite } from '../../conformance/audience-store.ts'
import { deliveryStoreSuite } from '../../conformance/delivery-store.ts'
import { regulationStoreSuite } from '../../conformance/regulation-store.ts'
import { findInSqlite } from '../../support/find-text.ts'
import { newPath } from '../sqlite/store-calls.ts'
import { startSharedThread } from './shared-threads.ts'

let path = ''

async function open(): Promise<Store> {
  path = await newPath()
  return openThreadedStore(path, startSharedThread)
}

// Here the engine of SQLite uses a file, in a thread. In sqlite/memory.test.ts, it uses memory, in this thread.
deliveryStoreSuite('ThreadedStore', open, { modelRuns: 20 })
audienceStoreSuite('ThreadedStore', open)
regulationStoreSuite('ThreadedStore', open, (text) => findInSqlite(path, text))
