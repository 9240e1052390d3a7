import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { deliveryStoreSuite } from '../../conformance/delivery-store.ts'
import { postgresDatabases } from '../../support/postgres.ts'

const databases = postgresDatabases()

deliveryStoreSuite('PostgresStore', async () => PostgresStore.open(await databases.newUrl()))
