import { vi } from 'vitest'
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { deliveryStoreSuite } from '../../conformance/delivery-store.ts'
import { PostgresDatabases } from '../../support/postgres.ts'

// Some 20,000 round trips take many times longer on a busy machine.
vi.setConfig({ testTimeout: 180_000 })

const databases = new PostgresDatabases()

deliveryStoreSuite('PostgresStore', async () => openPostgresStore(await databases.emptiedUrl()), {
  modelRuns: 10,
})
