import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { deliveryStoreSuite } from '../../conformance/delivery-store.ts'
import { newPath } from './store-calls.ts'

deliveryStoreSuite('SqliteStore', async () => SqliteStore.open(await newPath()))
