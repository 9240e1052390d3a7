import { readFileSync } from 'node:fs'
import type { Client } from 'pg'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { RegulationsUnderTest } from '../../conformance/regulation-store-under-test.ts'
import { delivered, event, messageIds } from '../../conformance/store-under-test.ts'
import { findInPostgres } from '../../support/find-text.ts'
import { PostgresDatabases } from '../../support/postgres.ts'
import { connect } from './store-calls.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const databases = new PostgresDatabases()

/** A recorded statement, with its values and the number of rows that it found or changed. */
interface RecordedCall {
  readonly statement: number
  readonly values: readonly unknown[]
  readonly rows?: number | readonly number[] | null
}

interface RecordedLine {
  readonly statement?: { readonly name?: string; readonly text: string }
  readonly before?: RecordedCall
  readonly after?: RecordedCall
}

/**
 * All statements of a process with version 5 of the tables. `before`: it creates the tables, adds events,
 * delivers and purges. `after`: the same again, with a regulation, and a second process starts.
 */
const lines = readFileSync(new URL('version-5.ndjson', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as RecordedLine)
const statements = lines.flatMap(({ statement }) => statement ?? [])

/** Repeats the recorded statements, and expects the recorded answers. */
async function replay(client: Client, part: 'before' | 'after'): Promise<void> {
  for (const call of lines.flatMap((line) => line[part] ?? [])) {
    const { name, text } = statements[call.statement]!
    const named = name === undefined ? {} : { name }
    const result: unknown = await client.query({ ...named, text, values: [...call.values] })
    const counts = (each: unknown): number | null => (each as { rowCount: number | null }).rowCount
    const rows = Array.isArray(result) ? result.map(counts) : counts(result)
    expect([text, rows]).toEqual([text, call.rows])
  }
}

async function opened(url: string): Promise<RegulationsUnderTest> {
  const tested = new RegulationsUnderTest(() => openPostgresStore(url))
  await tested.begin()
  onTestFinished(() => tested.all.close())
  return tested
}

async function isComplete(client: Client): Promise<boolean> {
  const { rows } = await client.query('SELECT FROM evroute_steps WHERE NOT is_complete')
  return rows.length === 0
}

describe('a process of an older version', () => {
  test('continues beside one of this version, and a second one can start', async () => {
    const url = await databases.newUrl()
    const older = await connect(url)
    await replay(older, 'before')
    expect(await findInPostgres(databases, url, 'no user m_1')).not.toEqual([])
    const tested = await opened(url)
    await replay(older, 'after')
    const { rows } = await older.query('SELECT max(version) AS version FROM evroute_migrations')
    // A process of that version does not start if this is higher.
    expect(rows).toEqual([{ version: 5 }])
    await tested.expectBalance()
    await vi.waitUntil(() => isComplete(older), 60_000)
    // The requests of purged deliveries are deleted too.
    for (const purged of ['m_1', 'm_3', 'm_4']) {
      expect(await findInPostgres(databases, url, `no user ${purged}`)).toEqual([])
    }
    expect((await tested.list({ messageId: 'm_2', destinationId: 'crm' }))[0]).toMatchObject({
      lane: 'manual',
      manualRetries: 1,
    })
    const claimed = await tested.claim('crm')
    expect(messageIds(claimed)).toEqual(['m_7'])
    await tested.settle(...claimed.map(delivered))
    await tested.expectBalance()
  })
})

describe('indexes on tables with rows', () => {
  test('are built while processes use the tables, and no erasure finishes before', async () => {
    const url = await databases.newUrl()
    const older = await connect(url)
    await replay(older, 'before')
    const dump = await connect(url)
    // Only the index build waits for this transaction.
    await dump.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM evroute_seen')
    const tested = await opened(url)
    expect(await tested.outcomes([event('n_1', 'crm')])).toEqual(['routed'])
    await tested.create('DELETE_INTERNAL', ['u_2'], { id: 'r_2' })
    expect(await tested.erase('r_2')).toBe('waiting')
    expect(await isComplete(older)).toBe(false)
    await dump.query('COMMIT')
    await vi.waitUntil(() => isComplete(older), 60_000)
    await vi.waitUntil(async () => (await tested.erase('r_2')) === 'nothing', 60_000)
    expect(await findInPostgres(databases, url, 'no user m_2')).toEqual([])
  })

  test('are built again after an interruption', async () => {
    const url = await databases.newUrl()
    const older = await connect(url)
    await replay(older, 'before')
    const name = 'evroute_deliveries_of_message'
    await older.query(`CREATE INDEX ${name} ON evroute_deliveries (message_id)`)
    await older.query(
      `UPDATE pg_index SET indisvalid = false WHERE indexrelid = '${name}'::regclass`,
    )
    await opened(url)
    await vi.waitUntil(() => isComplete(older), 60_000)
    const { rows } = await older.query(`
      SELECT amname, indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
      JOIN pg_am ON pg_am.oid = relam WHERE indexrelid = '${name}'::regclass`)
    expect(rows).toEqual([{ amname: 'hash', indisvalid: true }])
  })
})

describe('a store with additions by a newer version', () => {
  test('can be used and read', async () => {
    const url = await databases.newUrl()
    const first = await opened(url)
    const client = await connect(url)
    await client.query('INSERT INTO evroute_steps VALUES (99, true), (100, false)')
    const tested = await opened(url)
    expect(await tested.outcomes([event('m_1', 'crm')])).toEqual(['routed'])
    const log = await openPostgresStore(url, { access: 'write' })
    expect(await log.list({ filter: {}, limit: 9 })).toEqual(await first.list())
    await log.close()
  })
})
