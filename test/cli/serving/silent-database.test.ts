import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
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
async function stopped({ flags = [], isTTY = false }: { flags?: string[]; isTTY?: boolean }) {
  const endpoint = await TestEndpoint.start('hang')
  const line = await PostgresLine.to(server)
  const path = join(await temporaryFolder(), 'evroute.config.json')
  await writeFile(
    path,
    JSON.stringify(documentFor(endpoint, { store: line.through(server.url()) })),
  )
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

describe('serve, stopped while its database is silent', () => {
  test('stops waiting for it, and reports that it does not know what is pending', async () => {
    const { code, stderr } = await stopped({ flags: ['--json'] })
    expect(code).toBe(7)
    expect(stderr).toContain('because the server did not answer in time')
    expect(stderr).not.toContain('Query read timeout')
    const lines = stderr.trimEnd().split('\n')
    expect(lines.map((each) => JSON.parse(each) as unknown)).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        message: 'ended; the store cannot be read, so the number of pending deliveries is unknown',
        pending: null,
      }),
    )
  })

  test('says so as text', async () => {
    const { stderr } = await stopped({ isTTY: true })
    expect(stderr).toMatch(
      /\nEnded: how many deliveries stay in postgres:.* is unknown, because it cannot be read\n/,
    )
  })
})
