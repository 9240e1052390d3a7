import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { documentFor } from '../../service/running-service.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { start } from '../../support/io.ts'
import { PostgresLine } from '../../support/postgres-line.ts'
import { PostgresServer } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start()
})
afterAll(() => server.end())

/** Stops a service while its database is silent and keeps all connections open. */
async function stopped({
  schema,
  flags = [],
  isTTY = false,
}: {
  schema: string
  flags?: string[]
  isTTY?: boolean
}) {
  const endpoint = await TestEndpoint.start('hang')
  const line = await PostgresLine.to(server)
  const store = line.through(await server.newUrl(schema))
  const path = join(await temporaryFolder(), 'evroute.config.json')
  await writeFile(path, JSON.stringify(documentFor(endpoint, { store })))
  const command = start(['serve', '--config', path, '--grace', '100ms', ...flags], { isTTY })
  const [, url] = await command.stderr.matching(/(http:\/\/127[^"/]*)/)
  await fetch(`${url!}/v1/track`, {
    method: 'POST',
    headers: { 'x-write-key': 'wk_example' },
    body: JSON.stringify({ userId: 'u_1', event: 'E' }),
  })
  await endpoint.received(1)
  line.fallSilent()
  line.isMute = true
  command.stop()
  return command.ended
}

test('serve, stopped while its database is silent, does not wait for it, and reports that it does not know what is pending', async () => {
  const [json, text] = await Promise.all([
    stopped({ schema: 'json', flags: ['--json'] }),
    stopped({ schema: 'text', isTTY: true }),
  ])
  expect(json.code).toBe(7)
  expect(json.stderr).toContain('because the server did not answer in time')
  expect(json.stderr).not.toContain('Query read timeout')
  const lines = json.stderr.trimEnd().split('\n')
  expect(lines.map((each) => JSON.parse(each) as unknown)).toContainEqual(
    expect.objectContaining({
      level: 'warn',
      message: 'ended; the store cannot be read, so the number of pending deliveries is unknown',
      pending: null,
    }),
  )
  expect(text.stderr).toMatch(
    /\nEnded: the store postgres:.* cannot be read, so the number of its pending deliveries is unknown\n/,
  )
})
