import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { audienceStoreSuite } from '../../conformance/audience-store.ts'
import { newPath } from './store-calls.ts'

audienceStoreSuite('SqliteStore', async () => SqliteStore.open(await newPath()))
