import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { regulationStoreSuite } from '../../conformance/regulation-store.ts'
import { newPath } from './store-calls.ts'

regulationStoreSuite('SqliteStore', async () => SqliteStore.open(await newPath()))
