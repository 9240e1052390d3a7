import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Io } from '../../../src/cli/io.ts'
import { listen } from '../../../src/http/index.ts'
import { EvrouteError, formatTimestamp } from '../../../src/model/index.ts'
import { openDeliveryLog } from '../../../src/store/index.ts'
import { access, startAdmin, token } from '../../admin-api/support.ts'
import { makeCertificate } from '../../support/certificates.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { run, start, type RunSettings } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import {
  delivered,
  expired,
  failed,
  hourMs,
  nowMs,
  retried,
  retriedWithout,
  storeWith,
  type Sample,
} from '../deliveries/stores.ts'
import { serverThat } from '../store-access/project.ts'

/** Runs a command about deliveries over an API, with the token in the environment. */
const overApi = (url: string, argv: readonly string[], settings: RunSettings = {}) =>
  run([...argv, '--api', url], { env: { EVROUTE_ADMIN_TOKEN: token }, ...settings })

/** A destination that accepts deliveries. */
const enabledDestination = {
  ...{ id: 'crm', enabled: true, sources: ['website'], endpoints: [] },
  ...{ deliveries: 0, delivered: 0, failed: 0, expired: 0, pending: 0 },
}

/** 30 seconds past a minute, so that no minute ends while the test runs. */
const ageMs = 1.5 * hourMs + 30_000

const samples: readonly Sample[] = [
  { ...delivered, ageMs, userId: null, type: 'identify' },
  {
    ...failed,
    ageMs,
    destinationIds: ['a/b ü?#'],
    userId: 'u & 2',
    requests: [{ excerpt: 'gone\nfor ever', outcome: 'final', status: 404, error: 'status_404' }],
  },
  { ...expired, ageMs, messageId: 'm_x', destinationIds: ['crm', 'mail'], sourceId: 'app' },
  {
    ...retriedWithout([
      { url: 'https://example.com/a', untilMs: null },
      { url: 'https://example.com/b', untilMs: 8.64e15 + 1 },
    ]),
    ageMs,
    requests: [{ status: null, error: 'timeout' }],
  },
]

describe('deliveries --api', () => {
  test.each([
    [['deliveries']],
    [['deliveries', 'list', '--limit', '2']],
    [['deliveries', '--json']],
    [['deliveries', '--json', '--state', 'failed', '--state', 'expired', '--type', 'track']],
    [['deliveries', '--json', '--user-id', 'u & 2', '--destination', 'a/b ü?#']],
    [['deliveries', '--json', '--message', 'm_x', '--since', '2h', '--until', '1h']],
    [['deliveries', '--json', '--since', '99999999d']],
    [['deliveries', '--json', '--until', '99999999d']],
    [['deliveries', '--user-id', 'unknown']],
    [['deliveries', 'show', 'a/b ü?#/2']],
    [['deliveries', 'show', 'a/b ü?#/2', '--json']],
    [['deliveries', 'show', 'm_x', '--json']],
    [['deliveries', 'show', 'a/b ü?#/2', '--json', '--reveal']],
    [['deliveries', '--json', '--reveal']],
    [['deliveries', 'show', 'm_4', '--json']],
    [['deliveries', 'retry', 'm_1']],
    [['deliveries', 'retry', '--state', 'failed', '--user-id', 'unknown']],
    [['audit']],
    [['audit', '--json']],
  ])('%j prints the same as for the store', async (argv) => {
    const { url: store } = await storeWith(...samples)
    const log = await openDeliveryLog(store, { write: true })
    onTestFinished(() => log.close())
    const destinations = () => Promise.resolve([enabledDestination])
    const { url } = await startAdmin({ options: { store: log as never, destinations } })
    const expected = await run([...argv, '--store', store])
    expect(expected.code).toBe(0)
    const { code, stdout, stderr } = await overApi(url, argv)
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: expected.stdout,
      stderr: expected.stderr,
    })
  })

  test('names the endpoint that a parked delivery waits for, and its next try', async () => {
    const probeAt = formatTimestamp(nowMs + hourMs)
    const url = 'http://127.0.0.1:4100/'
    const endpoint = { url, breaker: 'open', probeAt, faults: [] } as const
    const crm = { ...enabledDestination, endpoints: [endpoint] }
    const admin = await startAdmin({
      samples: [{}, delivered],
      options: { destinations: () => Promise.resolve([crm]) },
    })
    const parked = { urls: [url], until: probeAt }
    const text = /parked: http:\/\/127\.0\.0\.1:4100\/ is down, next probe at /
    expect((await overApi(admin.url, ['deliveries'])).stdout).toMatch(text)
    expect((await overApi(admin.url, ['deliveries', 'show', 'crm/1'])).stdout).toMatch(text)
    const listed = await overApi(admin.url, ['deliveries', '--json'])
    expect(listed.records.map((each) => each['parked'])).toEqual([undefined, parked])
    const shown = await overApi(admin.url, ['deliveries', 'show', 'crm/1', '--json'])
    expect(shown.records).toMatchObject([{ kind: 'story', delivery: { id: 'crm/1', parked } }])
  })

  test('counts the requests that endpoints failed without a retry', async () => {
    const at = formatTimestamp(nowMs)
    const fault = { reason: 'status_404', failures: 1_012, since: at, last: at }
    const url = 'https://example.com/hook'
    const endpoint = { url, breaker: 'closed', probeAt: null, faults: [fault] } as const
    const destinations = ['crm', 'mail'].map((id) => ({
      ...enabledDestination,
      id,
      endpoints: [endpoint],
    }))
    const admin = await startAdmin({
      samples: [failed],
      options: { destinations: () => Promise.resolve(destinations) },
    })
    const { stdout, stderr } = await overApi(admin.url, ['deliveries'])
    expect(stdout).toContain('crm')
    expect(stderr).toMatch(
      /^1,012 requests to https:\/\/example\.com\/…#[0-9a-f]{6} failed with status_404 since .*, without a retry\n$/,
    )
    expect((await overApi(admin.url, ['deliveries', '--json'])).stderr).toBe('')
  })

  test('reads every page', async () => {
    const { url } = await startAdmin({ samples: Array.from({ length: 1_203 }, () => ({})) })
    const argv = ['deliveries', '--json', '--limit', '1202']
    const { code, records, stderr } = await overApi(url, argv)
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: '... and more; see --limit\n',
    })
    expect(records.map(({ id }) => id)).toEqual(
      Array.from({ length: 1_202 }, (_, index) => `crm/${1_203 - index}`),
    )
  })

  test('retries one, some and all deliveries', async () => {
    const { url, store } = await startAdmin({
      samples: [failed, failed, { ...expired, type: 'page' }, retried, delivered],
      options: { destinations: () => Promise.resolve([enabledDestination]) },
    })
    const retry = (...argv: readonly string[]) => overApi(url, ['deliveries', 'retry', ...argv])
    expect(await retry('crm/1')).toMatchObject({
      code: 0,
      stdout: '1 delivery is due again\n',
      stderr:
        'The service sends due deliveries now, unless the endpoints are down or rate-limited, or the destination ' +
        'is disabled or no longer configured.\n',
    })
    expect(await store.list({ filter: { states: ['pending'] }, limit: 9 })).toMatchObject([
      { id: 4, lane: 'retry' },
      { id: 1, lane: 'manual' },
    ])
    expect((await retry('--type', 'page', '--json')).records).toEqual([
      { v: 1, kind: 'retry', deliveries: 1, dryRun: false },
    ])
    expect(await retry('--all')).toMatchObject({ stdout: '2 deliveries are due again\n' })
    expect(await retry('crm/9')).toMatchObject({ code: 2, stdout: '' })
    expect((await retry('crm/9')).stderr).toContain('Cannot find "crm/9" in the service')
  })

  test.each([
    [[{ ...enabledDestination, enabled: false }], 'disabled. To send its deliveries, enable it.'],
    [[], 'no longer configured. To send its deliveries, add it again.'],
  ])('says if nothing sends the retried deliveries, with %j', async (destinations, text) => {
    const options = { destinations: () => Promise.resolve(destinations) }
    const { url } = await startAdmin({ samples: [failed], options })
    expect(await overApi(url, ['deliveries', 'retry', '--destination', 'crm'])).toMatchObject({
      stdout: '1 delivery is due again\n',
      stderr: `The destination crm is ${text}\n`,
    })
  })

  test('discards one delivery, and all', async () => {
    const samples = [retried, retried, retried, failed]
    const { url, store } = await startAdmin({ samples })
    const discard = (...argv: readonly string[]) => overApi(url, ['deliveries', 'discard', ...argv])
    expect(await discard('--all', '-n')).toMatchObject({
      stdout: '3 deliveries would be discarded\n',
    })
    expect(await discard('crm/1')).toMatchObject({ code: 0, stdout: '1 delivery discarded\n' })
    expect((await discard('--all', '--json')).records).toMatchObject([{ deliveries: 2 }])
    expect(await store.ledger()).toMatchObject({ pending: 0, failed: 4 })
    expect(await discard('crm/9')).toMatchObject({ code: 2 })
  })

  test('retries more deliveries than fit into a batch', async () => {
    const { url } = await startAdmin({ samples: Array.from({ length: 1_203 }, () => retried) })
    expect(await overApi(url, ['deliveries', 'retry', '--user-id', 'u_1'])).toMatchObject({
      stdout: '1,203 deliveries are due again\n',
    })
  })

  test('reports a ledger that does not balance', async () => {
    const { url, store } = await startAdmin({ samples: [failed] })
    const audit = { ...(await store.audit()), withoutBody: 1 }
    const log = { audit: () => Promise.resolve(audit) }
    const wrong = await startAdmin({ options: { store: log as never } })
    expect(await overApi(url, ['audit'])).toMatchObject({ code: 0 })
    expect(await overApi(wrong.url, ['audit'])).toMatchObject({ code: 1 })
  })
})

describe('the token', () => {
  const list = ['deliveries', '--json']

  test('comes from --token as text, variable or file, and only otherwise from EVROUTE_ADMIN_TOKEN', async () => {
    const { url } = await startAdmin({ samples: [failed] })
    const path = join(await temporaryFolder(), 'token')
    await writeFile(path, `${token}\n`)
    for (const flag of [token, 'env:ADMIN', `@${path}`]) {
      const env = { ADMIN: token, EVROUTE_ADMIN_TOKEN: 'wrong', EVROUTE_SECRET: 'wrong' }
      const { code, records } = await run([...list, '--api', url, '--token', flag], { env })
      expect({ code, count: records.length }).toEqual({ code: 0, count: 1 })
    }
  })

  test('may contain any characters', async () => {
    const odd = 'schlüssel 🔑'
    const { url } = await startAdmin({ options: { access: { ...access, token: odd } } })
    expect(await run([...list, '--api', url, '--token', odd])).toMatchObject({ code: 0 })
  })

  test.each<[[readonly string[], Io['env']], string, string]>([
    [[[], {}], 'Cannot ask the service without its admin token', 'EVROUTE_ADMIN_TOKEN'],
    [[['--token', ''], {}], 'Cannot ask the service without its admin token', '@file'],
    [[[], { EVROUTE_SECRET: token }], 'Cannot ask the service without its admin token', '@file'],
    [
      [['--token', 'env:NONE'], {}],
      'Cannot read --token from the environment variable NONE: it is not set',
      'Set the variable',
    ],
    [[['--token', 'a\nb'], {}], 'it has a line break', 'that it comes from'],
    [
      [['--token', 'wrong'], {}],
      'does not accept the token',
      'with --token or EVROUTE_ADMIN_TOKEN',
    ],
    [
      [[], { EVROUTE_ADMIN_TOKEN: 'wrong' }],
      'does not accept the token',
      'with --token or EVROUTE_ADMIN_TOKEN',
    ],
    [[['--store', 'sqlite:x.db'], {}], 'Cannot use --api together with --store', ''],
  ])('%j ends with 2 and says what to do', async ([flags, env], message, hint) => {
    const { url } = await startAdmin()
    const { code, stdout, stderr } = await run(['deliveries', ...flags, '--api', url], { env })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toContain(hint)
    expect(stderr).not.toContain(token)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })

  test('is refused without an API', async () => {
    const argv = ['deliveries', '--store', 'sqlite:x.db', '--token', token]
    expect(await run(argv)).toMatchObject({ code: 2 })
  })

  test('is not sent on to another server', async () => {
    const requested: unknown[] = []
    const other = await serverThat((request, response) => {
      requested.push(request.url)
      response.end()
    })
    const url = await serverThat((_request, response) => {
      response.writeHead(307, { location: `${other}/v1/deliveries` }).end()
    })
    expect(await overApi(url, list)).toMatchObject({ code: 2 })
    expect(requested).toEqual([])
  })
})

describe('a service', () => {
  test.each([
    ['a page', 'text/html', '<html>hello</html>'],
    ['nothing', 'text/plain', ''],
    ['other JSON', 'application/json', '{"kind":"deliveries","deliveries":[{"id":"crm/1"}]}'],
    ['null', 'application/json', 'null'],
    ['the tracking API', 'application/json', '{"success":false,"error":"x","code":"y"}'],
  ])('that answers with %s is not evroute', async (_, type, body) => {
    for (const status of [200, 404]) {
      const url = await serverThat((_request, response) => {
        response.writeHead(status, { 'content-type': type }).end(body)
      })
      const { code, stdout, stderr } = await overApi(url, ['deliveries', '--json'])
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(JSON.parse(stderr)).toMatchObject({
        error: {
          code: 'invalid_setting',
          message: expect.stringContaining(
            'is not an admin API of this version of evroute',
          ) as unknown,
          hint: 'Check the URL: the admin API has its own port, 4001 by default, and needs https:// if admin.tls is set.',
        },
      })
    }
  })

  test('that does not speak HTTP is not evroute', async () => {
    const server = createServer((socket) => {
      socket.once('data', () => socket.end('220 mail.example.com ESMTP\r\n'))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const { code, stderr } = await overApi(`http://127.0.0.1:${port}`, ['deliveries'])
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('is not an admin API of this version of evroute') as unknown,
    })
  })

  test.each(['retry', 'discard'])('says in %s that it has no such destination', async (change) => {
    const destinations = () => Promise.resolve([enabledDestination])
    const { url } = await startAdmin({ samples: [delivered], options: { destinations } })
    const noteFor = async (id: string) =>
      (await overApi(url, ['deliveries', change, '--destination', id])).stderr
    expect(await noteFor('nosuch')).toContain('The service has no destination nosuch.\n')
    expect(await noteFor('crm')).not.toContain('has no destination')
  })

  test('that refuses the connection cannot be reached', async () => {
    const listening = await listen(() => undefined, { host: '127.0.0.1', port: 0 })
    await listening.close()
    const { url } = listening
    const { code, stdout, stderr } = await overApi(url, ['deliveries'])
    expect({ code, stdout }).toEqual({ code: 7, stdout: '' })
    expect(stderr).toBe(
      `evroute: Cannot reach the service at ${url}/: connection refused (ECONNREFUSED). ` +
        'Check that `evroute serve` is running there, and that this is the URL of its admin API.\n',
    )
  })

  test('that has a certificate of an unknown authority cannot be reached', async () => {
    const { url } = await TestEndpoint.start(200, await makeCertificate())
    const { code, stderr } = await overApi(url, ['deliveries'])
    expect(code).toBe(7)
    expect(stderr).toContain(
      ': self-signed certificate (DEPTH_ZERO_SELF_SIGNED_CERT). If its authority is private, set NODE_EXTRA_CA_CERTS',
    )
  })

  test('that fails refuses the request', async () => {
    const error = new EvrouteError({ code: 'store_closed', message: 'closed' })
    const log = { list: () => Promise.reject(error) }
    const { url } = await startAdmin({ options: { store: log as never } })
    const { code, stderr } = await overApi(url, ['deliveries'])
    expect(code).toBe(7)
    expect(stderr).toContain(
      'refuses: The store cannot be used at the moment. See the log of the service.',
    )
  })

  test.each(['admin', 'ftp://127.0.0.1/', 'http://user:password@127.0.0.1/', ''])(
    'at %j has no valid URL',
    async (url) => {
      expect(await overApi(url, ['deliveries'])).toMatchObject({ code: 2, stdout: '' })
    },
  )

  test.each([
    ['SIGINT', 130],
    ['output_closed', 0],
  ] as const)('is not waited for after %s', async (reason, code) => {
    let resolveArrived = (): void => undefined
    const arrived = new Promise<void>((resolve) => (resolveArrived = resolve))
    const url = await serverThat(() => resolveArrived())
    const command = start(['deliveries', '--api', url, '--token', token])
    await arrived
    command.stop(reason)
    expect(await command.ended).toMatchObject({ code, stdout: '', stderr: '' })
  })
})
