import { vi } from 'vitest'
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { audienceStoreSuite } from '../../conformance/audience-store.ts'
import { PostgresDatabases } from '../../support/postgres.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const databases = new PostgresDatabases()

audienceStoreSuite('PostgresStore', async () => PostgresStore.open(await databases.emptiedUrl()))
