import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Store } from '../../../../src/store/index.ts'
import { planMove } from '../../../../src/store/migration/move-store.ts'
import { openPostgresStore } from '../../../../src/store/postgres/postgres-store.ts'
import { vip } from '../../../conformance/audience-store-under-test.ts'
import { eventAbout } from '../../../conformance/regulation-store-under-test.ts'
import {
  addAndLease,
  delivered,
  deliveredAtOnce,
  ended,
  event,
  nowMs,
  requestOf,
  retried,
} from '../../../conformance/store-under-test.ts'
import { PostgresServer, withParameter } from '../../../support/postgres.ts'
import { PostgresLine } from '../../../support/postgres-line.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { makeFullStore } from '../../migration/full-store.ts'
import { addAudiences, addRegulations, finishRegulations } from '../../migration/full-subjects.ts'
import { move } from '../../migration/migrations.ts'
import { RecordedStatements } from './recorded-statements.ts'
import { writtenQueries } from './written-queries.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const rooms = [
  'postgres/',
  'audiences/',
  'regulations/',
  'log/',
  'suppressions',
  'migration/postgres',
]
const source = join(import.meta.dirname, '../../../../src/store')

const queries = writtenQueries(
  ['postgres/postgres-store.ts', 'migration/move-store.ts'].map((path) => join(source, path)),
  (path) => rooms.some((room) => path.startsWith(join(source, room))),
).filter(({ pattern, reads }) => !pattern.test('') || reads.size > 0)

let server: PostgresServer

beforeAll(async () => {
  server = await PostgresServer.start()
})

afterAll(() => server.end())

/** Creates a schema, and returns a URL that uses it. */
async function newUrl(schema: string): Promise<string> {
  const client = new Client({ connectionString: server.url() })
  await client.connect()
  await client.query(`CREATE SCHEMA ${schema}`)
  await client.end()
  return withParameter(server.url(), 'options', `-c search_path=${schema}`)
}

/** Leaves deliveries in every state, and calls every look-up. */
async function deliver(store: Store): Promise<void> {
  const events = Array.from({ length: 6 }, (_, index) => event(`own_${index}`, 'own'))
  const handOver = [{ destinationId: 'own', deliveriesMax: 1 }]
  await store.add({ nowMs, seenSinceMs: 0, events, handOver })
  const share = { destinationId: 'own', lane: 'first' as const, deliveriesMax: 9, dueByMs: nowMs }
  const [one, two, three] = await store.claim({ nowMs, shares: [{ ...share, deliveriesMax: 3 }] })
  const requests = [requestOf(two!), requestOf(three!)]
  const settlements = [
    deliveredAtOnce(one!, requestOf(one!)),
    ended('failed', two!),
    retried(three!),
  ]
  await store.settle({ nowMs, settlements, requests })
  await store.nextDue({ nowMs, destinationIds: ['own'] })
  await store.destinationCounts()
  await store.checkWritable()
  await store.ledger()
  await store.ledger({ destinationId: 'own' })
  for (const filter of [{}, { destinationId: 'own' }, { messageId: 'own_1' }, { userId: 'u_1' }]) {
    await store.list({ filter, limit: 9 })
  }
  await store.story(one!)
  await store.countLost({ destinationId: 'own', sinceMs: 0, limit: 1 })
  await store.retry({ nowMs, filter: {}, limit: 1 })
  await store.discard({ nowMs, filter: { destinationId: 'own' }, limit: 1 })
  await store.audit()
  await store.tableRows?.()
  await store.processes?.heartbeat({ processId: 'p_1', destinationIds: ['own'] })
  await store.processes?.leave({ processId: 'p_1' })
}

/** Erases a user while a delivery is leased and after it is settled, and lifts a suppression. */
async function eraseLeased(store: Store): Promise<void> {
  const events = [eventAbout('leased', { to: ['slow'] })]
  const handOver = [{ destinationId: 'slow', deliveriesMax: 1 }]
  const { leased } = await addAndLease(store, { nowMs, seenSinceMs: 0, events, handOver })
  for (const [id, type] of [
    ['leased', 'DELETE_INTERNAL'],
    ['lifted for one', 'UNSUPPRESS'],
  ] as const) {
    const regulation = { id, type, userIds: ['leased'], sourceIds: ['website'] }
    await store.regulations.create({ regulation, notifications: [], nowMs })
  }
  const erase = (id: string) => store.regulations.erase({ id, nowMs, rowsMax: 100_000 })
  while ((await erase('leased')) === 'more');
  await store.settle({ nowMs, settlements: leased.map(delivered), requests: [] })
  while ((await erase('leased')) !== 'nothing');
  await erase('unknown')
}

/** Reads audiences and regulations, and purges the deliveries. */
async function readAndPurge(store: Store): Promise<void> {
  await store.audiences.list()
  await store.audiences.begin({ audience: { ...vip, computationClass: 'trait' }, nowMs })
  await store.audiences.remove({ key: 'total' })
  await store.regulations.list({ limit: 9, unfinished: true, beforeId: 'only' })
  await store.sharedRegulations?.unfinished({ archiveIds: ['a_1'] })
  await store.sharedRegulations?.release({ name: 'archive' })
  await store.sharedRegulations?.register({ archives: [{ id: 'a_1', name: 'archive' }] })
  const old = {
    deliveredBeforeMs: nowMs + 1,
    failedBeforeMs: nowMs + 1,
    messageIdsBeforeMs: nowMs + 1,
  }
  const request = { nowMs: nowMs + 1, ...old, abandonedBeforeMs: nowMs, rowsMax: 10_000 }
  while ((await store.purge(request)).rows > 0);
}

test('every statement in the code runs on a server, and returns the columns that the code reads', async () => {
  const recorded = new RecordedStatements()
  const line = await PostgresLine.to(server)
  line.watch = recorded.watch
  const path = join(await temporaryFolder(), 'store.db')
  await makeFullStore(path)
  const moved = line.through(await newUrl('moved'))
  await planMove({ path, url: moved })
  await move({ path, url: moved })
  const url = line.through(await newUrl('used'))
  const store = await openPostgresStore(url)
  await store.sharedRegulations.register({ archives: [{ id: 'a_1', name: 'archive' }] })
  await addAudiences(store)
  await addRegulations(store)
  await finishRegulations(store)
  await deliver(store)
  await eraseLeased(store)
  await readAndPurge(store)
  await store.close()
  const log = await openPostgresStore(url, { access: 'write' })
  await log.close()

  const statements = [...recorded.columns]
  const faults: string[] = []
  for (const { location, pattern, reads } of queries) {
    const found = statements.filter(([text]) => pattern.test(text))
    if (found.length === 0) faults.push(`${location} did not run: extend this test so that it does`)
    for (const [name, kinds] of reads) {
      for (const [text, columns] of found) {
        const kind = columns?.get(name)
        if (kind !== undefined && kinds.has(kind)) continue
        faults.push(
          `${location} reads ${name} as ${[...kinds].join()}: it is ${kind ?? 'missing'} in ${text}`,
        )
      }
    }
  }
  expect(faults).toEqual([])
})
