import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { silentDatabase } from '../pressure/silent-database.ts'
import { PostgresServer } from '../support/postgres.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start()
})
afterAll(() => server.end())

test('calls are answered 503 while the database is silent, and accepted once it is back', async () => {
  const folder = await temporaryFolder()
  const silent = await silentDatabase({ seconds: 0.5, server, folder })
  expect(silent).toMatchObject({ statuses: { '503+': 50 }, statusAfter: 200 })
})
