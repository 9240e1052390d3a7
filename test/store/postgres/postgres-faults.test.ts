import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { StoreUnusableError } from '../../../src/model/index.ts'
import { Database } from '../../../src/store/postgres/database.ts'
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import {
  delivered,
  ended,
  event,
  events,
  messageIds,
  nowMs,
  requestOf,
  returned,
  type StoreUnderTest,
} from '../../conformance/store-under-test.ts'
import { PostgresServer, withParameter } from '../../support/postgres.ts'
import { PostgresLine } from '../../support/postgres-line.ts'
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

async function query(sql: string): Promise<readonly unknown[]> {
  return admin.rows({ sql, values: [] })
}

/** Creates a schema, and returns a URL that uses it as a given user. */
async function newUrl(user = 'postgres'): Promise<string> {
  const schema = `faults_${++schemas}`
  await query(`CREATE SCHEMA ${schema}`)
  return withParameter(server.url({ user }), 'options', `-c search_path=${schema}`)
}

async function opened(url: string, onNotification?: () => void): Promise<StoreUnderTest> {
  return (await openStore(url, { onNotification })).tested
}

function failureOf(url: string): Promise<StoreUnusableError> {
  return openPostgresStore(url).then(
    async (store) => {
      await store.close()
      throw new Error('the store opened')
    },
    (error: unknown) => error as StoreUnusableError,
  )
}

test('a damaged list of endpoints to skip counts as empty', async () => {
  const tested = await opened(await newUrl())
  await tested.add(events(2, 'crm'))
  await query(
    `UPDATE faults_${schemas}.evroute_deliveries SET holds = 'x' WHERE message_id = 'm_1'`,
  )
  expect(await tested.list()).toMatchObject([{ holds: [] }, { holds: [] }])
  expect(await tested.claim('crm')).toMatchObject([{ holds: [] }, { holds: [] }])
})

describe('a server that goes away', () => {
  test('makes every call fail temporarily, and every call works once it is back', async () => {
    const url = await newUrl()
    let onNotification: (() => void) | undefined
    const notification = (): Promise<void> => new Promise((resolve) => (onNotification = resolve))
    const first = notification()
    const tested = await opened(url, () => onNotification?.())
    await first
    await tested.add(events(2, 'crm'))
    const [delivery] = await tested.claim('crm', { deliveriesMax: 1 })
    const calls = {
      add: () => tested.add([event('m_3', 'crm')]),
      claim: () => tested.claim('crm'),
      settle: () => tested.log([requestOf(delivery!)], delivered(delivery!)),
      checkWritable: () => tested.store.checkWritable(),
      nextDue: () => tested.nextDue('crm'),
      ledger: () => tested.store.ledger(),
      list: () => tested.list(),
      story: () => tested.story(delivery!),
      retry: () => tested.retry(),
      purge: () => tested.purge({}),
      audit: () => tested.store.audit(),
    }
    await server.stop('crash')
    for (const [name, call] of Object.entries(calls)) {
      const failure = { code: 'store_unusable', isTemporary: true }
      await expect(call(), name).rejects.toMatchObject(failure)
    }
    const again = notification()
    await server.restart()
    for (const [name, call] of Object.entries(calls)) {
      await expect(call(), name).resolves.not.toThrow()
    }
    await again
    const ledger = { accepted: 3, routed: 3, delivered: 1, pending: 2 }
    expect(await tested.store.ledger()).toMatchObject(ledger)
    await tested.expectBalance()
  })

  test('goes unnoticed if it cut only idle connections', async () => {
    const tested = await opened(await newUrl())
    await Promise.all([tested.list(), tested.list(), tested.list()])
    const others = `FROM pg_stat_activity
      WHERE application_name = 'evroute' AND pid <> pg_backend_pid()`
    await query(`SELECT pg_terminate_backend(pid) ${others}`)
    await vi.waitUntil(async () => (await query(`SELECT ${others}`)).length === 0)
    // The pool learns that a connection ended in a later turn of the event loop.
    await vi.waitUntil(async () => (await tested.list().catch(() => undefined)) !== undefined)
    expect(await tested.outcomes([event('m_1', 'crm')])).toEqual(['routed'])
  })

  test('while it commits an add causes no second delivery', async () => {
    const url = await newUrl()
    const line = await PostgresLine.to(server)
    const [tested, other] = [await opened(line.through(url)), await opened(url)]
    // Connects first, so that only the answer is lost.
    await tested.add([event('m_0')])
    line.losesAnswers = true
    const room = { handOver: [{ destinationId: 'crm', deliveriesMax: 1 }] }
    await expect(tested.add(events(2, 'crm'), room)).rejects.toMatchObject({ isTemporary: true })
    line.losesAnswers = false
    expect(await tested.outcomes(events(2, 'crm'))).toEqual(['duplicate', 'duplicate'])
    // Others cannot claim the deliveries that were handed over in the lost answer.
    expect(messageIds(await other.claim('crm'))).toEqual(['m_2'])
    expect(await tested.nextDue('crm')).toMatchObject([{ lane: 'first' }])
    expect(messageIds(await tested.claim('crm'))).toEqual(['m_1'])
    expect(await tested.nextDue('crm')).toEqual([])
    await tested.expectBalance()
  })

  test('while it leases deliveries does not delay them', async () => {
    const url = await newUrl()
    const line = await PostgresLine.to(server)
    const [tested, other] = [await opened(line.through(url)), await opened(url)]
    await tested.add(events(2, 'crm'))
    // Connects first, so that only the answer is lost.
    await tested.nextDue('crm')
    line.losesAnswers = true
    await expect(tested.claim('crm')).rejects.toMatchObject({ isTemporary: true })
    line.losesAnswers = false
    expect(await other.claim('crm')).toEqual([])
    const claimed = await tested.claim('crm')
    expect(messageIds(claimed)).toEqual(['m_1', 'm_2'])
    expect(await tested.claim('crm')).toEqual([])
    await tested.settle(...claimed.map(delivered))
    expect(await tested.store.ledger()).toMatchObject({ delivered: 2, pending: 0 })
  })
})

test('a settlement whose answer was lost does not affect the next lease', async () => {
  const url = await newUrl()
  const line = await PostgresLine.to(server)
  const tested = await opened(line.through(url))
  const before = await tested.leaseOne()
  line.losesAnswers = true
  await expect(tested.settle(returned(before))).rejects.toMatchObject({ isTemporary: true })
  line.losesAnswers = false
  const after = await tested.claimOne('crm')
  await tested.settle(ended('failed', before))
  expect(await tested.store.ledger()).toMatchObject({ failed: 0, pending: 1 })
  await tested.settle(delivered(after))
  expect(await tested.store.ledger()).toMatchObject({ delivered: 1, pending: 0 })
})

test('sessions read committed rows, even if a user reads snapshots by default', async () => {
  await query('CREATE ROLE careful LOGIN')
  await query("ALTER ROLE careful SET default_transaction_isolation = 'serializable'")
  const use = { connectionsMax: 1, isReadOnly: false }
  const database = new Database(server.url({ user: 'careful' }), use)
  onTestFinished(() => database.close())
  const rows = await database.rows({ sql: 'SHOW transaction_isolation', values: [] })
  expect(rows).toEqual([{ transaction_isolation: 'read committed' }])
})

describe('a store cannot be opened', () => {
  test('with a wrong password, which no message shows', async () => {
    await query("CREATE ROLE strict LOGIN PASSWORD 'right'")
    const failure = await failureOf(server.url({ user: 'strict:swordfish' }))
    expect(failure).toMatchObject({ code: 'store_unusable', isTemporary: false })
    expect(failure.message).toContain('password authentication failed for user "strict"')
    expect(failure.hint).toContain('password')
    expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain('swordfish')
  })

  test('without the password', async () => {
    const failure = await failureOf(server.url({ user: 'strict' }))
    expect(failure).toMatchObject({ code: 'store_unusable', isTemporary: false })
    expect(failure.hint).toContain('password')
  })

  test('without its database', async () => {
    expect(await failureOf(server.url({ database: 'nowhere' }))).toMatchObject({
      isTemporary: false,
      message: expect.stringContaining('database "nowhere" does not exist') as string,
      hint: expect.stringContaining('CREATE DATABASE') as string,
    })
  })

  test('with a user who may not create tables', async () => {
    await query('CREATE ROLE guest LOGIN')
    const failure = await failureOf(await newUrl('guest'))
    expect(failure).toMatchObject({ isTemporary: false })
    expect(failure.hint).toMatch(/GRANT|CREATE/)
  })

  test('while there are too many connections', async () => {
    await query('CREATE ROLE busy LOGIN CONNECTION LIMIT 0')
    expect(await failureOf(await newUrl('busy'))).toMatchObject({
      isTemporary: true,
      hint: expect.stringContaining('max_connections') as string,
    })
  })

  test('while the server is read-only', async () => {
    const url = await newUrl()
    await opened(url)
    expect(
      await failureOf(url.replace('?', '?options=-c%20default_transaction_read_only%3Don&')),
    ).toMatchObject({
      isTemporary: true,
      hint: expect.stringContaining('primary') as string,
    })
  })

  test('nor read if a newer version created it', async () => {
    const url = await newUrl()
    await opened(url)
    await query(`INSERT INTO faults_${schemas}.evroute_migrations VALUES (99)`)
    const newer = {
      code: 'store_unusable',
      message: expect.stringContaining('it was created by a newer version of evroute') as string,
    }
    expect(await failureOf(url)).toMatchObject(newer)
    await expect(openPostgresStore(url, { access: 'read' })).rejects.toMatchObject(newer)
  })

  test.each(['LATIN1', 'SQL_ASCII'])('in a database whose encoding is %s', async (encoding) => {
    const name = encoding.toLowerCase()
    await query(`CREATE DATABASE ${name} ENCODING '${encoding}' LOCALE 'C' TEMPLATE template0`)
    expect(await failureOf(server.url({ database: name }))).toMatchObject({
      code: 'store_unusable',
      message: expect.stringContaining(`must be UTF8, but is ${encoding}`) as string,
      hint: expect.stringContaining('CREATE DATABASE') as string,
    })
  })

  test('as a log before its tables exist', async () => {
    await expect(openPostgresStore(await newUrl(), { access: 'write' })).rejects.toMatchObject({
      code: 'store_unusable',
      message: expect.stringContaining('the database contains no store yet') as string,
    })
  })
})

describe('a database', () => {
  test('gets its tables once, however many processes open it concurrently', async () => {
    const url = await newUrl()
    const stores = await Promise.all(Array.from({ length: 5 }, () => opened(url)))
    await Promise.all(stores.map((tested, index) => tested.add([event(`m_${index}`, 'crm')])))
    expect(await stores[0]!.store.ledger()).toMatchObject({ routed: 5 })
    const log = await openPostgresStore(url, { access: 'read' })
    await log.close()
  })

  test('with locked tables is upgraded later, and blocks no other process', async () => {
    const url = await newUrl()
    const waiting = async (): Promise<number> =>
      (await query('SELECT FROM pg_locks WHERE NOT granted')).length
    await query(`CREATE TABLE faults_${schemas}.evroute_migrations (version integer PRIMARY KEY)`)
    const dump = new Database(url, { connectionsMax: 1, isReadOnly: false })
    const { opening } = await dump.transaction(async (session) => {
      await session.rows({ sql: 'LOCK TABLE evroute_migrations IN SHARE MODE', values: [] })
      const begun = opened(url)
      await vi.waitUntil(async () => (await waiting()) > 0, 60_000)
      await vi.waitUntil(async () => (await waiting()) === 0, 60_000)
      return { opening: begun }
    })
    expect(await (await opening).outcomes([event('m_1', 'crm')])).toEqual(['routed'])
    await dump.close()
  })

  test('gets a statement again after a deadlock', async () => {
    await query('CREATE SEQUENCE tries')
    await query(`DO $$ BEGIN
      IF nextval('tries') < 4 THEN RAISE EXCEPTION USING ERRCODE = '40P01'; END IF; END $$`)
    expect(await query('SELECT last_value FROM tries')).toEqual([{ last_value: 4 }])
  })

  test('can still be read after another version changed its tables', async () => {
    await query('CREATE TABLE versions (first integer)')
    const database = new Database(server.url(), { connectionsMax: 3, isReadOnly: false })
    const statement = { name: 'versions', sql: 'SELECT * FROM versions', values: [] }
    const read = (): Promise<unknown> => database.rows(statement)
    const change = (): Promise<unknown> =>
      database.transaction((session) => session.rows(statement))
    await Promise.all([read(), read(), change()])
    await query('ALTER TABLE versions ADD COLUMN second integer')
    expect(await Promise.all([read(), read(), change()])).toEqual([[], [], []])
    expect(await Promise.all([change(), change(), change()])).toEqual([[], [], []])
    await database.close()
  })

  test('that answers too slowly fails temporarily', async () => {
    const slow = new Database(`${server.url()}&statement_timeout=20`, {
      connectionsMax: 1,
      isReadOnly: false,
    })
    const result = slow.rows({ sql: 'SELECT pg_sleep(60)', values: [] })
    await expect(result).rejects.toMatchObject({ isTemporary: true })
    await slow.close()
  })

  test('is closed once the calls in progress have been answered', async () => {
    const url = await newUrl()
    const tested = await opened(url)
    const added = tested.outcomes([event('m_1', 'crm')])
    await tested.store.close()
    expect(await added).toEqual(['routed'])
    await expect(tested.list()).rejects.toMatchObject({ code: 'store_closed' })
  })

  test('is not changed by a log that was opened for reading', async () => {
    const url = await newUrl()
    const tested = await opened(url)
    const failed = await tested.failOne()
    const log = await openPostgresStore(url, { access: 'read' })
    onTestFinished(() => log.close())
    expect(await log.audit()).toEqual(await tested.store.audit())
    expect(await log.story(failed)).toEqual(await tested.story(failed))
    const unwritable = { message: expect.stringContaining('read-only transaction') as string }
    await expect(log.retry({ nowMs, filter: {}, limit: 1 })).rejects.toMatchObject(unwritable)
  })
})
