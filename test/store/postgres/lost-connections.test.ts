import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { StoreAudit } from '../../../src/delivery/index.ts'
import { Database, type Session } from '../../../src/store/postgres/database.ts'
import { Notifications } from '../../../src/store/postgres/notifications.ts'
import { event, returned } from '../../conformance/store-under-test.ts'
import { gate } from '../../support/gate.ts'
import { PostgresServer, withParameter } from '../../support/postgres.ts'
import { PostgresLine } from '../../support/postgres-line.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openStore } from './store-calls.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let server: PostgresServer
let admin: Database
let schemas = 0

beforeAll(async () => {
  server = await PostgresServer.start()
  admin = new Database(server.url(), { connectionsMax: 1, isReadOnly: false })
})

afterAll(async () => {
  await admin.close()
  await server.end()
})

async function query<Row>(sql: string): Promise<readonly Row[]> {
  return admin.rows<Row>({ sql, values: [] })
}

/** Creates a schema, and returns a URL that uses it. */
async function newUrl(): Promise<string> {
  const schema = `lost_${++schemas}`
  await query(`CREATE SCHEMA ${schema}`)
  return withParameter(server.url(), 'options', `-c search_path=${schema}`)
}

async function opened(url: string, onNotification?: () => void) {
  const { store, tested } = await openStore(url, { onNotification })
  const { processes, regulations } = store
  return { tested, processes, regulations, close: () => store.close() }
}

function databaseAt(url: string): Database {
  const database = new Database(url, { connectionsMax: 2, isReadOnly: false })
  onTestFinished(() => database.close())
  return database
}

/** Terminates the connection of a session, and waits until the server no longer has it. */
async function cut(session: Session): Promise<void> {
  const [own] = await session.rows<{ pid: number }>({
    sql: 'SELECT pg_backend_pid() AS pid',
    values: [],
  })
  await query(`SELECT pg_terminate_backend(${own!.pid})`)
  const sessionQuery = `SELECT FROM pg_stat_activity WHERE pid = ${own!.pid}`
  await vi.waitUntil(async () => (await query(sessionQuery)).length === 0)
}

describe('a connection that is lost between two statements', () => {
  test.each([
    ['transaction', false],
    ['long transaction', true],
  ])('fails a %s, and nothing else', async (_name, isLong) => {
    const database = databaseAt(server.url())
    const thrown: unknown[] = []
    const work = async (session: Session): Promise<void> => {
      await cut(session)
      await session.rows({ sql: 'SELECT 1', values: [] })
    }
    // An error without a listener would end the process.
    const listener = (error: unknown): unknown => thrown.push(error)
    process.on('uncaughtExceptionMonitor', listener)
    onTestFinished(() => void process.off('uncaughtExceptionMonitor', listener))
    await expect(database.transaction(work, { isLong })).rejects.toMatchObject({
      code: 'store_unusable',
      isTemporary: true,
    })
    expect(thrown).toEqual([])
    expect(await database.rows({ sql: 'SELECT 1 AS answer', values: [] })).toEqual([{ answer: 1 }])
  })
})

const heartbeat = { processId: 'p', destinationIds: ['crm'] }

test(
  'a heartbeat abandons a silent connection, and the next heartbeat gets a new one',
  { timeout: 40_000 },
  async () => {
    const line = await PostgresLine.to(server)
    const { processes } = await opened(line.through(await newUrl()))
    await processes.heartbeat(heartbeat)
    line.fallSilent()
    // Early enough for a second try before the process counts as gone.
    await expect(processes.heartbeat(heartbeat)).rejects.toMatchObject({ isTemporary: true })
    expect(await processes.heartbeat(heartbeat)).toMatchObject([{ processes: 1 }])
  },
)

test('adds that wait for a lock leave connections for deliveries', async () => {
  const { tested, processes } = await opened(await newUrl())
  await tested.add([event('m_0', 'crm')])
  const lock = databaseAt(server.url())
  const adding: Promise<unknown>[] = []
  await lock.transaction(async (session) => {
    const sql = `LOCK TABLE lost_${schemas}.evroute_gate IN EXCLUSIVE MODE`
    await session.rows({ sql, values: [] })
    for (let index = 1; index <= 20; index++) adding.push(tested.add([event(`m_${index}`, 'crm')]))
    await processes.heartbeat(heartbeat)
    const leased = await tested.claim('crm')
    expect(leased).toHaveLength(1)
    await tested.settle(returned(leased[0]!))
  })
  await Promise.all(adding)
})

/** Does some work while a table is locked. */
async function withLocked(table: string, work: () => Promise<void>): Promise<void> {
  await databaseAt(server.url()).transaction(async (session) => {
    const sql = `LOCK TABLE lost_${schemas}.${table} IN ACCESS EXCLUSIVE MODE`
    await session.rows({ sql, values: [] })
    await work()
  })
}

async function waitForLocks(count: number): Promise<void> {
  const waiting = 'SELECT FROM pg_locks WHERE NOT granted'
  await vi.waitUntil(async () => (await query(waiting)).length >= count, 60_000)
}

test('look-ups that wait for a lock leave connections for adds', async () => {
  const { tested } = await opened(await newUrl())
  const delivery = await tested.leaseOne('m_1')
  const stories: Promise<unknown>[] = []
  await withLocked('evroute_requests', async () => {
    for (let index = 0; index < 40; index++) stories.push(tested.story(delivery))
    await waitForLocks(1)
    expect(await tested.outcomes([event('m_2', 'crm')])).toEqual(['routed'])
  })
  await Promise.all(stories)
})

test('audits that are requested while one runs share the next one', async () => {
  const { tested, regulations } = await opened(await newUrl())
  const audits: Promise<StoreAudit>[] = []
  await withLocked('evroute_messages', async () => {
    audits.push(tested.store.audit())
    await waitForLocks(1)
    for (let index = 0; index < 20; index++) audits.push(tested.store.audit())
    // This needs a connection in addition to the one of the audit.
    expect(await regulations.find({ id: 'none' })).toBeUndefined()
  })
  const [first, second, ...others] = await Promise.all(audits)
  expect(second).not.toBe(first)
  for (const other of others) expect(other).toBe(second)
})

describe('an add to a silent server', () => {
  test('fails in time, however many others wait', { timeout: 25_000 }, async () => {
    const line = await PostgresLine.to(server)
    const { tested } = await opened(line.through(await newUrl()))
    await tested.add([event('m_0', 'crm')])
    line.fallSilent()
    line.isMute = true
    const adds = Array.from({ length: 200 }, (_, index) => tested.outcomes([event(`m_${index}`)]))
    for (const result of await Promise.allSettled(adds)) {
      expect(result).toMatchObject({
        status: 'rejected',
        reason: { code: 'store_unusable', isTemporary: true },
      })
    }
    line.isMute = false
    expect(await tested.outcomes([event('m_1000', 'crm')])).toEqual(['routed'])
    expect(line.open).toBeLessThan(20)
  })
})

describe('a connection is used for at most a minute, because its server may no longer be the primary', () => {
  const minuteMs = 60_000

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
  })

  test('for statements, even if it is always in use', async () => {
    const database = databaseAt(await newUrl())
    const pid = { sql: 'SELECT pg_backend_pid() AS pid', values: [] }
    const used = await database.transaction(async (session) => {
      vi.advanceTimersByTime(minuteMs - 1)
      return session.rows(pid)
    })
    expect(await database.rows(pid)).toEqual(used)
    await database.transaction(() => Promise.resolve(vi.advanceTimersByTime(1)))
    expect(await database.rows(pid)).not.toEqual(used)
  })

  test('and fails waiting statements if a file in the URL cannot be read for the next one', async () => {
    const file = join(await temporaryFolder(), 'root.pem')
    await writeFile(file, '')
    const url = withParameter(server.url(), 'sslmode', 'disable')
    const database = new Database(withParameter(url, 'sslrootcert', file), {
      connectionsMax: 1,
      isReadOnly: false,
    })
    onTestFinished(() => database.close())
    const one = { sql: 'SELECT 1', values: [] }
    let waiting: Promise<unknown> | undefined
    await database.transaction(async () => {
      vi.advanceTimersByTime(minuteMs)
      await rm(file)
      waiting = database.rows(one).catch((error: unknown) => error)
    })
    expect(await waiting).toMatchObject({ code: 'store_unusable', isTemporary: true })
    await writeFile(file, '')
    expect(await database.rows(one)).toHaveLength(1)
  })

  test('for notifications, even if it has fallen silent', async () => {
    const line = await PostgresLine.to(server)
    const url = await newUrl()
    let listening = gate()
    const options = { url: line.through(url), holder: 1, onNotification: () => listening.open() }
    const notifications = new Notifications(databaseAt(url), options)
    onTestFinished(() => notifications.close())
    await listening.opened
    listening = gate()
    line.fallSilent()
    vi.advanceTimersByTime(minuteMs)
    await listening.opened
  })
})

describe('a silent server is not waited for', () => {
  test('when a store closes', async () => {
    const line = await PostgresLine.to(server)
    const url = line.through(await newUrl())
    let isListening = (): void => undefined
    const listening = new Promise<void>((resolve) => (isListening = resolve))
    const { close } = await opened(url, isListening)
    await listening
    line.fallSilent()
    await expect(close()).resolves.not.toThrow()
  })

  test('when notifications that never connected close', async () => {
    const line = await PostgresLine.to(server)
    line.isMute = true
    const notifications = new Notifications(admin, {
      url: line.through(server.url()),
      holder: 1,
      onNotification: () => undefined,
    })
    await vi.waitUntil(() => line.open === 1)
    await expect(notifications.close()).resolves.not.toThrow()
  })
})
