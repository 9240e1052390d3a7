import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { documentFor, token } from '../../service/running-service.ts'
import { dropTable } from '../../support/drop-table.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { start } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** A configuration file with a store in a file beside it. */
async function configured(...answers: Parameters<typeof TestEndpoint.start>) {
  const endpoint = await TestEndpoint.start(...answers)
  const folder = await temporaryFolder()
  const path = join(folder, 'evroute.config.json')
  const document = documentFor(endpoint, { store: 'sqlite:./store.db' })
  await writeFile(path, JSON.stringify(document))
  return { endpoint, document, path, store: join(folder, 'store.db') }
}

describe('serve', () => {
  test('prints its addresses on a terminal', async () => {
    const { path } = await configured()
    const command = start(['serve', '--config', path, '--grace', '2s'], { isTTY: true })
    await command.stderr.matching(/Ctrl-C ends the service: requests in flight get 2s/)
    command.stop()
    const { code, stdout, stderr } = await command.ended
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr.startsWith(`Serving ${path}\n`)).toBe(true)
    expect(stderr).toMatch(
      /^ {2}page {10}http:\/\/127\.0\.0\.1:\d+\/_evroute\/sign-in\?token=[\w-]{43}\n {16}\(opens once\)$/m,
    )
    expect(stderr).toMatch(
      /\nEnding: 0 webhooks are in flight and may take 2s; press Ctrl-C again to end at once\nEnded: 0 deliveries stay in sqlite:.*store\.db\n$/,
    )
    expect(stderr).toMatch(/^ {2}tracking API {2}http:\/\/127\.0\.0\.1:\d+\/v1\/batch$/m)
    expect(stderr).toMatch(/^ {2}admin API {5}http:\/\/127\.0\.0\.1:\d+$/m)
  })

  test('does not print unimportant lines of the log', async () => {
    const { path } = await configured()
    const command = start(['serve', '--config', path, '--log-level', 'warn', '--json'])
    await command.stdout.record('ready')
    command.stop()
    expect((await command.ended).stderr).not.toContain('"level":"info"')
  })

  test('says that it drains before it ends', async () => {
    const { path } = await configured()
    const argv = ['serve', '--config', path, '--drain', '50ms']
    const person = start(argv, { isTTY: true })
    await person.stderr.matching(/Ctrl-C ends the service/)
    person.stop()
    const { code, stderr } = await person.ended
    expect(code).toBe(0)
    expect(stderr).toMatch(
      /\nDraining: \/readyz answers 503, requests are still served for 50ms; press Ctrl-C again to end at once\nEnding: /,
    )
    const program = start([...argv, '--json'])
    await program.stderr.matching(/"serving"/)
    program.stop()
    expect((await program.ended).stderr).toMatch(/"draining; .*"drainMs":50\}\n.*"ending; /)
  })

  test('reports requests in progress on a signal, and the deliveries left in its store', async () => {
    const { path, endpoint } = await configured('hang')
    const command = start(['serve', '--config', path, '--grace', '100ms', '--json'])
    const { url } = await command.stdout.record('ready')
    for (const messageId of ['m_1', 'm_2']) {
      await fetch(`${String(url)}/v1/track`, {
        method: 'POST',
        headers: { 'x-write-key': 'wk_example' },
        body: JSON.stringify({ userId: 'u_1', event: 'E', messageId }),
      })
    }
    await endpoint.received(2)
    command.stop()
    const { stderr } = await command.ended
    expect(stderr).toMatch(/"ending; .*"requests":2,/)
    expect(stderr).toMatch(/"ended",.*"pending":2/)
  })

  test.each([[[]], [['--json']]])(
    'logs its addresses and its end in JSON for a program, with %j',
    async (flags) => {
      const { path, store } = await configured()
      const command = start(['serve', '--config', path, '--grace', '2s', ...flags])
      await command.stderr.matching(/"serving"/)
      command.stop()
      const { code, stderr } = await command.ended
      expect(code).toBe(0)
      const lines = stderr.trimEnd().split('\n')
      expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
        {
          level: 'info',
          message: 'serving',
          file: path,
          url: expect.stringMatching(/^http/) as string,
          admin: expect.stringMatching(/^http/) as string,
          page: expect.stringMatching(/^http.*\/_evroute\/$/) as string,
        },
        {
          level: 'info',
          message: 'ending; send a second signal to end at once',
          requests: 0,
          graceMs: 2_000,
        },
        { level: 'info', message: 'ended', store: `sqlite:${store}`, pending: 0 },
      ])
    },
  )

  test('continues when its output is closed, and ends with 0 on a signal', async () => {
    const { path } = await configured()
    const command = start(['serve', '--config', path, '--json'])
    const { url } = await command.stdout.record('ready')
    command.stop('output_closed')
    await nextTurn()
    expect((await fetch(`${String(url)}/healthz`)).status).toBe(200)
    command.stop('SIGTERM')
    expect(await command.ended).toMatchObject({ code: 0 })
  })

  test('reports every problem in records, like config', async () => {
    const { path, document } = await configured()
    await writeFile(path, JSON.stringify({ ...document, store: 7, limits: 7 }))
    const { code, records, stderr } = await start(['serve', '--config', path, '--json']).ended
    expect(code).toBe(2)
    expect(records).toMatchObject([
      { kind: 'problem', path: 'limits' },
      { kind: 'problem', path: 'store' },
    ])
    expect(JSON.parse(stderr)).toMatchObject({
      error: { code: 'invalid_setting', problems: [{ path: 'limits' }, { path: 'store' }] },
    })
  })

  test('logs a change of its configuration as information', async () => {
    const { path, document } = await configured()
    const command = start(['serve', '--config', path, '--json'])
    await command.stdout.record('ready')
    await writeFile(path, JSON.stringify({ ...document, limits: { eventsPerSecond: 7 } }))
    await command.hangUp()
    await command.stderr.matching(/"level":"info","message":"the configuration changed"/)
    command.stop()
    expect(await command.ended).toMatchObject({ code: 0 })
  })

  test('warns of a changed setting that needs a restart', async () => {
    const { path, document } = await configured()
    const command = start(['serve', '--config', path, '--json', '--log-level', 'warn'])
    await command.stdout.record('ready')
    await writeFile(path, JSON.stringify({ ...document, senderThreads: 1 }))
    await command.stderr.matching(
      /"level":"warn","message":"a changed setting needs a restart","setting":"senderThreads"/,
    )
    command.stop()
    expect(await command.ended).toMatchObject({ code: 0 })
  })

  test('ends with 7 when its store fails, and says why', async () => {
    const { path, store } = await configured(404)
    const command = start(['serve', '--config', path, '--json'])
    const { url } = await command.stdout.record('ready')
    await dropTable(store, 'requests')
    const answer = await fetch(`${String(url)}/v1/track`, {
      method: 'POST',
      headers: { 'x-write-key': 'wk_example' },
      body: '{"userId":"u_1","event":"E"}',
    })
    expect(answer.status).toBe(200)
    const { code, stderr } = await command.ended
    expect(code).toBe(7)
    const last = stderr.trimEnd().split('\n').at(-1) ?? ''
    expect(JSON.parse(last)).toMatchObject({ error: { code: 'store_unusable' } })
  })

  test('reads the file again on a SIGHUP that comes before it is ready', async () => {
    const { path } = await configured()
    const command = start(['serve', '--config', path, '--json'])
    await command.hangUp()
    expect(command.stdout.text).toBe('')
    await command.stderr.matching(/"the configuration is the same"/)
    command.stop()
    expect(await command.ended).toMatchObject({ code: 0 })
  })

  test('says that a file is gone, and does not call it invalid', async () => {
    const { path } = await configured()
    const command = start(['serve', '--config', path, '--json'])
    await command.stdout.record('ready')
    await rm(path)
    await command.stderr.matching(
      /"the configuration cannot be read; the previous one stays in force","file":".*","problems":"Cannot read /,
    )
    command.stop()
    const { code, stderr } = await command.ended
    expect(code).toBe(0)
    expect(stderr).not.toContain('is invalid')
  })

  test('reads a restored file again, and says if nothing differs', async () => {
    const { path, document } = await configured()
    const command = start(['serve', '--config', path, '--json'])
    const { admin } = await command.stdout.record('ready')
    await writeFile(path, '{"sources": [], "store": 7}')
    const [line = ''] = await command.stderr.matching(/.*"the new configuration is invalid.*\n/)
    expect(JSON.parse(line)).toMatchObject({
      level: 'warn',
      message: 'the new configuration is invalid; the previous one stays in force',
      file: path,
      problems: expect.stringMatching(
        /^sources: Cannot use .*; store: Cannot use this value/,
      ) as string,
    })
    const headers = { authorization: `Bearer ${token}` }
    const metrics = await fetch(`${String(admin)}/metrics`, { headers })
    expect(await metrics.text()).toContain('\nevroute_configuration_reload_successful 0\n')
    await writeFile(path, JSON.stringify(document, null, 2))
    await command.stderr.matching(/"the configuration is the same"/)
    command.stop()
    expect(await command.ended).toMatchObject({ code: 0 })
  })
})
