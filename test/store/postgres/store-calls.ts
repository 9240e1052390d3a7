import { createHash } from 'node:crypto'
import { Client } from 'pg'
import { onTestFinished } from 'vitest'
import { sessionUrl } from '../../../src/store/postgres/connection-url.ts'
import {
  openPostgresStore,
  type PostgresStore,
  type PostgresStoreOptions,
} from '../../../src/store/postgres/postgres-store.ts'
import { StoreUnderTest } from '../../conformance/store-under-test.ts'

/** Opens a store, which is closed when the test ends. */
export async function openStore(
  url: string,
  options?: PostgresStoreOptions,
): Promise<{ readonly store: PostgresStore; readonly tested: StoreUnderTest }> {
  const store = await openPostgresStore(url, options)
  onTestFinished(() => store.close())
  const tested = new StoreUnderTest(() => Promise.resolve(store))
  await tested.begin()
  return { store, tested }
}

/** Connects a client with the settings of a store's sessions. It disconnects when the test ends. */
export async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: sessionUrl(url, { isReadOnly: false }) })
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

/** Makes an incompressible id of 8,000 characters, which is too long for an index. */
export function longId(seed: string): string {
  return Array.from({ length: 125 }, (_, part) =>
    createHash('sha256').update(`${seed} ${part}`).digest('hex'),
  ).join('')
}
