import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { documentFor } from '../../service/running-service.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { start, type Finished, type RunningCommand, type RunSettings } from '../../support/io.ts'
import { PostgresServer, schemaOf, withParameter } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const password = 'hedgehog'

let server: PostgresServer
let admin: Client
let schemas = 0

beforeAll(async () => {
  server = await PostgresServer.start()
  admin = new Client({ connectionString: server.url() })
  await admin.connect()
  await admin.query(`CREATE ROLE strict LOGIN PASSWORD '${password}'`)
})

afterAll(async () => {
  await admin.end()
  await server.end()
})

/** Creates a schema, and returns its URL with a user who has a password. */
async function newUrl(given = password): Promise<string> {
  const schema = `cli_${++schemas}`
  await admin.query(`CREATE SCHEMA ${schema} AUTHORIZATION strict`)
  const url = server.url({ user: `strict:${given}` })
  return withParameter(url, 'options', `-c search_path=${schema}`)
}

/** How output names the store of {@link newUrl}. */
const name = 'postgres://strict@/postgres'

/** Starts a command, and checks that it shows no password, however it ends. */
function begin(argv: readonly string[], settings?: RunSettings): RunningCommand {
  const command = start(argv, settings)
  const ended = command.ended.then((finished) => {
    expect(finished.stdout + finished.stderr).not.toContain(password)
    return finished
  })
  return Object.assign(command, { ended })
}

function run(argv: readonly string[], settings?: RunSettings): Promise<Finished> {
  return begin(argv, settings).ended
}

/** Runs a service with this store and endpoint until the test ends. */
async function serve(store: string, endpoint: TestEndpoint) {
  const path = join(await temporaryFolder(), 'evroute.config.json')
  const document = documentFor(endpoint, { store: 'env:STORE' })
  await writeFile(path, JSON.stringify(document))
  const env = { STORE: store }
  const command = begin(['serve', '--config', path, '--json'], { env })
  onTestFinished(async () => {
    command.stop()
    await command.ended
  })
  const { url } = await command.stdout.record('ready')
  const track = async (messageId: string): Promise<number> => {
    const response = await fetch(`${String(url)}/v1/track`, {
      method: 'POST',
      headers: { 'x-write-key': 'wk_example' },
      body: JSON.stringify({ userId: 'u_1', event: 'Order Completed', messageId }),
    })
    return response.status
  }
  return { command, path, env, track }
}

const sendTo = (url: string): readonly string[] => ['send', 'track', '--to', url, '--json']

describe('a store in PostgreSQL', () => {
  test('keeps deliveries and shows them, named by value, variable and file', async () => {
    const endpoint = await TestEndpoint.start()
    const store = await newUrl()
    const file = join(await temporaryFolder(), 'store-url')
    await writeFile(file, `${store}\n`)
    const sent = await run([...sendTo(endpoint.url), '--store', `@${file}`])
    expect(sent).toMatchObject({ code: 0 })
    expect(sent.records.at(-1)).toMatchObject({ deliveries: 1, delivered: 1 })
    const env = { STORE: store, EVROUTE_STORE: 'env:STORE' }
    const listed = await run(['deliveries', '--json'], { env })
    expect(listed.records).toMatchObject([{ kind: 'delivery', state: 'delivered' }])
    const { messageId } = listed.records[0] ?? {}
    const shown = await run(['deliveries', 'show', String(messageId)], { env })
    expect(shown).toMatchObject({ code: 0, stderr: '' })
    const audited = await run(['audit', '--store', store])
    expect(audited).toMatchObject({ code: 0, stderr: '' })
  })

  test('names the store that keeps undelivered deliveries', async () => {
    const endpoint = await TestEndpoint.start('hang')
    const store = await newUrl()
    const command = begin([...sendTo(endpoint.url), '--store', store])
    await endpoint.received(1)
    // It is registered, so other processes that send to the same endpoint leave room for it.
    const schema = schemaOf(store)
    const { rowCount } = await admin.query(`SELECT FROM ${schema}.evroute_live_processes`)
    expect(rowCount).toBe(1)
    command.stop()
    const { code, stderr } = await command.ended
    expect(code).toBe(130)
    expect(stderr).toContain(`, kept in ${name}\nNext: evroute `)
  })

  test('says how to list undelivered deliveries, without a URL that would not work', async () => {
    const endpoint = await TestEndpoint.start(404)
    const file = join(await temporaryFolder(), 'calls.ndjson')
    await writeFile(file, '{"type":"identify","userId":"u_1"}')
    const replay = ['replay', file, '--to', endpoint.url, '--store', await newUrl()]
    await run(replay)
    const { code, stderr } = await run(replay)
    expect(code).toBe(4)
    const command = 'evroute deliveries --store ... --state failed --state expired'
    expect(stderr).toContain(`failed or expired\nNext: ${command}\n`)
  })

  test('is used by several processes at once', async () => {
    let isWell = false
    const endpoint = await TestEndpoint.start(() => (isWell ? 200 : 404))
    const store = await newUrl()
    const { command, path, env, track } = await serve(store, endpoint)
    expect(await track('m_1')).toBe(200)
    await endpoint.received(1)
    const failed = ['deliveries', '--state', 'failed', '--store', store, '--json']
    await vi.waitUntil(async () => (await run(failed)).records.length > 0)
    isWell = true
    const retried = await run(['deliveries', 'retry', '--all', '--store', store])
    expect([retried.code, retried.stderr]).toEqual([
      0,
      expect.stringContaining('sends due deliveries immediately'),
    ])
    // Only the service can send it: it alone knows the endpoint.
    await endpoint.received(2)
    const sent = await run([...sendTo(endpoint.url), '--store', store])
    expect(sent).toMatchObject({ code: 0 })
    const config = ['--config', path, '--json']
    const deleted = await run(
      ['delete', '--user-id', 'u_1', '--regulation', 'DELETE_INTERNAL', ...config],
      { env },
    )
    expect(deleted).toMatchObject({ code: 0 })
    const regulations = await run(['regulations', 'list', ...config], { env })
    expect(regulations.records).toMatchObject([{ kind: 'regulation' }])
    expect(await run(['audience', 'list', ...config], { env })).toMatchObject({ code: 0 })
    expect(await run(['audit', '--store', store])).toMatchObject({ code: 0 })
    command.stop()
    const { code, stderr } = await command.ended
    expect(code).toBe(0)
    expect(stderr).toMatch(new RegExp(`"ended",.*"store":"${name}"`))
  })

  test('is shown among the settings, with its password masked', async () => {
    const path = join(await temporaryFolder(), 'evroute.config.json')
    const document = documentFor(await TestEndpoint.start(), { store: await newUrl() })
    await writeFile(path, JSON.stringify(document))
    const { code, stdout } = await run(['config', '--config', path])
    expect(code).toBe(0)
    expect(stdout).toContain('postgres://strict:********@/postgres?host=')
  })
})

describe('a store that cannot be opened', () => {
  /** How each kind of command names it: by a flag, or in its configuration. */
  const byFlag = [
    ['send', 'track', '--to', 'http://127.0.0.1:1/'],
    ['deliveries'],
    ['deliveries', 'retry', '--all'],
    ['audit'],
  ]
  const byConfiguration = [
    ['serve'],
    ['audience', 'list'],
    ['regulations', 'list'],
    ['delete', '--user-id', 'u_1', '--regulation', 'DELETE_INTERNAL'],
  ]

  /** The exit code, and the message with its hint. */
  interface ExpectedResult {
    readonly code: number
    readonly message: RegExp
  }

  /** A wrong URL, and the message of every command about it. */
  const wrong: readonly (readonly [string, () => Promise<string>, ExpectedResult])[] = [
    [
      'a wrong password',
      () => newUrl(`${password}s`),
      {
        code: 7,
        message:
          /Cannot use the store postgres:\/\/strict@\/postgres: password .*\. Check the user and the password/,
      },
    ],
    [
      'a missing database',
      async () => (await newUrl()).replace('/postgres?', '/missing?'),
      { code: 7, message: /"missing" does not exist\. Create the database/ },
    ],
    [
      'a server that does not run',
      () => Promise.resolve(`postgres://strict:${password}@127.0.0.1:1/events`),
      {
        code: 7,
        message:
          /Cannot use the store postgres:\/\/strict@127\.0\.0\.1:1\/events: connect ECONNREFUSED .*\. Check that the server is running/,
      },
    ],
    [
      'a missing certificate',
      async () => withParameter(await newUrl(), 'sslrootcert', '/missing.pem'),
      { code: 7, message: /Cannot use the store postgres:\/\/strict@\/postgres: .*\/missing\.pem/ },
    ],
    [
      'an invalid URL',
      () => Promise.resolve(`postgres://strict:1/${password}@127.0.0.1/events`),
      {
        code: 2,
        message:
          /it has a character that must be percent-encoded or is not allowed in a URL\. In the user/,
      },
    ],
    [
      'another engine',
      () => Promise.resolve(`mysql://strict:${password}@127.0.0.1/events`),
      { code: 2, message: /it (must be|is) (memory:|sqlite:)/ },
    ],
  ]

  test.each(wrong)(
    'because of %s is reported by every command',
    async (_name, urlOf, { code, message }) => {
      const store = await urlOf()
      const path = join(await temporaryFolder(), 'evroute.config.json')
      await writeFile(path, JSON.stringify(documentFor(await TestEndpoint.start(), { store })))
      const commands = [
        ...byFlag.map((argv) => [...argv, '--store', store]),
        ...byConfiguration.map((argv) => [...argv, '--config', path]),
      ]
      for (const argv of commands) {
        const finished = await run(argv)
        expect(finished, argv[0]).toMatchObject({ code })
        expect(finished.stdout + finished.stderr, argv[0]).toMatch(message)
        expect(finished.stderr, argv[0]).not.toMatch(/\n\s+at /)
        expect(await run([...argv, '--json']), argv[0]).toMatchObject({ code })
      }
    },
  )

  test('because of a missing variable or file is reported', async () => {
    expect(await run(['deliveries', '--store', 'env:STORE'])).toMatchObject({
      code: 2,
      stderr:
        'evroute: Cannot read --store from the environment variable STORE: it is not set. Set the variable, or pass the value itself or @file.\n',
    })
    expect(await run(['send', 'track', '--store', '@/missing'])).toMatchObject({
      code: 7,
      stderr:
        'evroute: Cannot read --store from the file /missing: there is no such file. If the value itself begins with @, put it in a variable and pass env:NAME.\n',
    })
    expect(await run(['audit', '--store', ''])).toMatchObject({ code: 2 })
  })
})
