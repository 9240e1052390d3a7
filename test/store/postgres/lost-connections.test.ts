import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Database, type Session } from '../../../src/store/postgres/database.ts'
import { PostgresServer } from '../../support/postgres.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let server: PostgresServer
let admin: Database

beforeAll(async () => {
  server = await PostgresServer.start()
  admin = new Database(server.url(), { connectionsMax: 1, isReadOnly: false })
})

afterAll(async () => {
  await admin.close()
  await server.end()
})

async function say<Row>(sql: string): Promise<readonly Row[]> {
  return admin.rows<Row>({ sql, values: [] })
}

function databaseAt(url: string): Database {
  const database = new Database(url, { connectionsMax: 2, isReadOnly: false })
  onTestFinished(() => database.close())
  return database
}

/** Ends the connection of a session, which is told of it before anybody goes on. */
async function cut(session: Session): Promise<void> {
  const [own] = await session.rows<{ pid: number }>({
    sql: 'SELECT pg_backend_pid() AS pid',
    values: [],
  })
  await say(`SELECT pg_terminate_backend(${own!.pid})`)
  const left = `SELECT FROM pg_stat_activity WHERE pid = ${own!.pid}`
  await vi.waitUntil(async () => (await say(left)).length === 0)
}

describe('a connection that is lost between two statements', () => {
  test.each(['change', 'transaction'] as const)('fails a %s, and nothing else', async (kind) => {
    const database = databaseAt(server.url())
    const thrown: unknown[] = []
    const work = async (session: Session): Promise<void> => {
      await cut(session)
      await session.rows({ sql: 'SELECT 1', values: [] })
    }
    // An error that nobody listens to would end the process.
    const listener = (error: unknown): unknown => thrown.push(error)
    process.on('uncaughtExceptionMonitor', listener)
    onTestFinished(() => void process.off('uncaughtExceptionMonitor', listener))
    await expect(database[kind](work)).rejects.toMatchObject({
      code: 'store_unusable',
      isTemporary: true,
    })
    expect(thrown).toEqual([])
    expect(await database.rows({ sql: 'SELECT 1 AS answer', values: [] })).toEqual([{ answer: 1 }])
  })
})
