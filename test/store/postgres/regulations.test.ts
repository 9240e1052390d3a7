import { vi } from 'vitest'
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { regulationStoreSuite } from '../../conformance/regulation-store.ts'
import { PostgresDatabases } from '../../support/postgres.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const databases = new PostgresDatabases()

regulationStoreSuite('PostgresStore', async () => PostgresStore.open(await databases.emptiedUrl()))
