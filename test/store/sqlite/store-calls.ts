import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { DeliveryStore, LeasedDelivery, NewEvent } from '../../../src/delivery/index.ts'
import type { Lane } from '../../../src/model/index.ts'
import type { Database } from '../../../src/store/sqlite/database.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { event, nowMs } from '../../conformance/store-under-test.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Returns a path for a new store, in a folder that is deleted when the test ends. */
export async function newPath(): Promise<string> {
  return join(await temporaryFolder(), 'store.db')
}

/** Returns a database with some of its methods replaced. */
export function withMethods(database: Database, replaced: Partial<Database>): Database {
  return {
    exec: (sql) => database.exec(sql),
    prepare: (sql) => database.prepare(sql),
    close: () => database.close(),
    function: (...given) => database.function(...given),
    ...replaced,
  }
}

/** Opens a store, which is closed when the test ends. */
export async function openStore(path: string): Promise<SqliteStore> {
  const store = await SqliteStore.open(path)
  onTestFinished(() => store.close())
  return store
}

/** Adds events for `crm` and returns their outcomes. */
export async function add(
  store: DeliveryStore,
  ...messageIds: readonly string[]
): Promise<readonly string[]> {
  const events = messageIds.map((messageId) => event(messageId, 'crm'))
  return (await store.add({ nowMs, seenSinceMs: 0, events, handOver: [] })).outcomes
}

/** Claims all due deliveries of `crm` in a lane. */
export function claim(
  store: DeliveryStore,
  lane: Lane = 'first',
): Promise<readonly LeasedDelivery[]> {
  const share = { destinationId: 'crm', lane, deliveriesMax: 100, dueByMs: nowMs }
  return store.claim({ nowMs, shares: [share] })
}

/** Makes an event for `crm` with a body of the given length. */
export function longEvent(messageId: string, characters: number): NewEvent {
  const deliveries = [{ destinationId: 'crm', body: 'x'.repeat(characters) }]
  return { ...event(messageId), deliveries }
}
