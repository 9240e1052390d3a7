import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { StopReason } from '../../src/cli/io.ts'
import { gate } from '../support/gate.ts'
import { start } from '../support/io.ts'
import { silentServer } from '../support/silent-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A configuration with a source, a destination and a store. */
async function configuration(): Promise<string> {
  const folder = await temporaryFolder()
  const file = join(folder, 'evroute.config.json')
  const endpoints = [{ url: 'http://127.0.0.1:9/' }]
  const document = {
    listen: { port: 0 },
    store: `sqlite:${join(folder, 'store.db')}`,
    network: { allow: ['127.0.0.0/8'] },
    sources: [{ id: 'website', writeKeys: ['wk_example'] }],
    destinations: [{ id: 'crm', type: 'Webhooks', sources: ['website'], endpoints }],
  }
  await writeFile(file, JSON.stringify(document))
  return file
}

/** Endless input, with a promise that resolves once it is read. */
function endlessInput() {
  const read = gate()
  const stdin = (async function* () {
    read.open()
    yield Buffer.from('userId\nu_1\n')
    await new Promise(() => undefined)
  })()
  return { read: read.opened, stdin }
}

const ends: readonly (readonly [reason: StopReason, code: number])[] = [
  ['SIGINT', 130],
  ['SIGTERM', 130],
  ['output_closed', 0],
]

describe.each(ends)('%s', (reason, code) => {
  const deletion = ['--regulation', 'DELETE_ONLY']

  test.each([
    { argv: ['delete', ...deletion], expected: 130, message: /some users are not covered/ },
    { argv: ['delete', '--dry-run', ...deletion], expected: code, message: /^/ },
  ])('ends $argv, which reads its input, without an error', async ({ argv, expected, message }) => {
    const { read, stdin } = endlessInput()
    const file = ['--file', '-', '--config', await configuration()]
    const command = start([...argv, ...file], { stdin })
    await read
    command.stop(reason)
    const ended = await command.ended
    expect(ended.stderr).not.toMatch(/bug|evroute:/)
    expect(ended.stderr).toMatch(message)
    expect(ended.code).toBe(expected)
  })

  test.each([
    ['deliveries'],
    ['audience', 'list'],
    ['delete', '--dry-run', '--user-id', 'u_1', ...deletion],
    ['audit'],
    ['regulations', 'list'],
    ['audience', 'show', 'vip'],
  ])('ends %s, which asks a service, without an error', async (...argv) => {
    const { requested, port } = await silentServer()
    const url = `http://127.0.0.1:${port}`
    const command = start([...argv, '--api', url], { env: { EVROUTE_ADMIN_TOKEN: 'not-real' } })
    const early = command.ended.then(({ stderr }) => Promise.reject(new Error(stderr)))
    await Promise.race([requested, early])
    command.stop(reason)
    const ended = await command.ended
    expect(ended.stderr).not.toMatch(/bug|evroute:/)
    expect(ended.code).toBe(code)
  })
})

test.each([
  ['deliveries', 'retry', '--all'],
  ['deliveries', 'discard', '--all'],
  ['delete', '--user-id', 'u_1', '--regulation', 'DELETE_ONLY'],
])('%s %s does not wait for a silent service, and says what is unknown', async (...argv) => {
  const { requested, port } = await silentServer()
  const url = `http://127.0.0.1:${port}`
  const command = start([...argv, '--api', url], { env: { EVROUTE_ADMIN_TOKEN: 'not-real' } })
  await requested
  command.stop('SIGINT')
  const { code, stderr } = await command.ended
  expect(stderr).toContain('it may have done what was asked')
  expect(code).toBe(7)
})
