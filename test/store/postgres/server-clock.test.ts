import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ClocksDisagreeError } from '../../../src/delivery/index.ts'
import { systemClock } from '../../../src/runtime/index.ts'
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import type { Session } from '../../../src/store/postgres/database.ts'
import { ServerClock } from '../../../src/store/postgres/server-clock.ts'
import { event, nowMs } from '../../conformance/store-under-test.ts'
import { PostgresDatabases, schemaOf } from '../../support/postgres.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const databases = new PostgresDatabases()

/** Returns the real clock, set ahead by an offset that can change. */
function clockAhead(aheadMs: number) {
  const clock = { aheadMs, nowMs: () => systemClock.nowMs() + clock.aheadMs }
  return clock
}

const dayMs = 24 * 60 * 60 * 1_000
const share = { destinationId: 'crm', lane: 'first' as const, deliveriesMax: 9, dueByMs: nowMs }

describe('a process whose clock is wrong', () => {
  test.each([-7_000, 7_000])('by %d ms cannot open a store', async (aheadMs) => {
    const opening = openPostgresStore(await databases.newUrl(), { clock: clockAhead(aheadMs) })
    const error = await opening.catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'store_unusable',
      hint: expect.stringContaining('NTP') as string,
    })
    const { message } = error as Error
    const [, own = '', server = ''] =
      /clock of this machine says (\S+Z), but the server's says (\S+Z)$/.exec(message) ?? []
    expect(Math.sign(Date.parse(own) - Date.parse(server))).toBe(Math.sign(aheadMs))
  })

  test('by 3 s can open a store', async () => {
    const url = await databases.newUrl()
    const store = await openPostgresStore(url, { clock: clockAhead(-3_000) })
    await store.close()
  })

  test('cannot change a store that it opened earlier until the clock is right again', async () => {
    const clock = clockAhead(0)
    const store = await openPostgresStore(await databases.newUrl(), { clock })
    onTestFinished(() => store.close())
    const add = (messageId: string) =>
      store.add({ nowMs, seenSinceMs: 0, events: [event(messageId, 'crm')], handOver: [] })
    await add('m_1')
    const before = await store.ledger()
    const atMs = nowMs + 31 * dayMs
    const old = {
      deliveredBeforeMs: atMs,
      failedBeforeMs: atMs,
      abandonedBeforeMs: atMs,
      messageIdsBeforeMs: atMs,
    }
    const heartbeat = () => store.processes.heartbeat({ processId: 'p_1', destinationIds: ['crm'] })
    const attempts = [
      () => add('m_2'),
      () => store.claim({ nowMs: atMs, shares: [share] }),
      () => store.retry({ nowMs: atMs, filter: {}, limit: 9 }),
      () => store.purge({ nowMs: atMs, ...old, rowsMax: 9 }),
      heartbeat,
    ]
    clock.aheadMs = 31 * dayMs
    for (const attempt of attempts) await expect(attempt()).rejects.toThrow(ClocksDisagreeError)
    expect(await store.ledger()).toEqual(before)
    clock.aheadMs = 0
    expect(await heartbeat()).toMatchObject([{ processes: 1 }])
    expect(await store.claim({ nowMs, shares: [share] })).toHaveLength(1)
  })

  test("learns from its heartbeats that the server's clock was changed", async () => {
    const { url, setServerAhead } = await newDatabase()
    const store = await openPostgresStore(url)
    onTestFinished(() => store.close())
    const heartbeat = () => store.processes.heartbeat({ processId: 'p_1', destinationIds: ['crm'] })
    await heartbeat()
    await setServerAhead('1 hour')
    await expect(heartbeat()).rejects.toThrow(ClocksDisagreeError)
    await expect(store.claim({ nowMs, shares: [share] })).rejects.toThrow(ClocksDisagreeError)
    await setServerAhead('0')
    expect(await store.claim({ nowMs, shares: [share] })).toEqual([])
  })

  test('cannot open a log for writing, but can read it', async () => {
    const { url, setServerAhead } = await newDatabase()
    await (await openPostgresStore(url)).close()
    await setServerAhead('-1 hour')
    await expect(openPostgresStore(url, { access: 'write' })).rejects.toThrow(ClocksDisagreeError)
    const log = await openPostgresStore(url, { access: 'read' })
    expect(await log.list({ filter: {}, limit: 9 })).toEqual([])
    await log.close()
  })
})

test('the delay of an answer does not count as a difference between clocks', () => {
  const own = { nowMs: () => nowMs }
  const learn = (serverMs: number) => () =>
    new ServerClock({ name: 'a store' } as Session, own).learn(serverMs, () => 7_000)
  for (const serverMs of [nowMs + 5_000, nowMs - 12_000]) expect(learn(serverMs)).not.toThrow()
  for (const serverMs of [nowMs + 5_001, nowMs - 12_001]) {
    expect(learn(serverMs)).toThrow(ClocksDisagreeError)
  }
})

/** Creates a database whose server clock can be set, by a function that hides the one of `pg_catalog`. */
async function newDatabase() {
  const url = await databases.newUrl()
  const schema = schemaOf(url)
  const setServerAhead = async (ahead: string): Promise<void> => {
    await databases.query(`CREATE OR REPLACE FUNCTION ${schema}.clock_timestamp()
      RETURNS timestamptz LANGUAGE sql AS
      $$ SELECT pg_catalog.clock_timestamp() + interval '${ahead}' $$`)
  }
  return { url: `${url}%2Cpg_catalog`, setServerAhead }
}
