import { join } from 'node:path'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { deliveryStoreSuite } from '../../conformance/delivery-store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

deliveryStoreSuite('SqliteStore', async () =>
  SqliteStore.open(join(await temporaryFolder(), 'store.db')),
)
