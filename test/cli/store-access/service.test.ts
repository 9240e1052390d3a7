import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { TestEndpoint } from '../../support/endpoint.ts'
import { freePort, unreachableUrl } from '../../support/free-port.ts'
import { run, start } from '../../support/io.ts'
import { newProject, serverThat, serving, token } from './project.ts'
import { ServiceApi } from '../../../src/cli/store-access/service-api.ts'
import { remoteOperations } from '../../../src/cli/store-access/remote.ts'

const shoppers = ['audience', 'sync', '--name', 'First-Time Shopper', '--file', '-']

const lines = (...records: readonly object[]): string =>
  records.map((record) => `${JSON.stringify({ v: 1, ...record })}\n`).join('')

const counts = {
  ...{ read: 3, rejected: 0, entered: 1, changed: 0 },
  ...{ left: 0, unchanged: 2, suppressed: 0 },
}

/** The record that a sync ends with. */
const last = (outcome: string): object => ({
  ...{ kind: 'sync', outcome },
  audience: {
    ...{ key: 'vip', name: 'VIP', class: 'audience', computationId: 'aud_1', source: 'website' },
    ...{ members: 3, createdAt: '2026-11-20T10:15:00.000Z', syncedAt: null },
  },
  ...counts,
})

describe('a running service', () => {
  test('syncs, shows and removes audiences', async () => {
    const endpoint = await TestEndpoint.start()
    const { api } = await serving(await newProject(endpoint.url))
    const sync = (stdin: string, ...flags: readonly string[]) =>
      run([...shoppers, ...api, ...flags], { stdin })
    expect(await sync('id\nu_1\nu_2\n')).toMatchObject({
      code: 0,
      stdout:
        'first_time_shopper: 2 entered, 0 changed, 0 left, 0 unchanged; it is new or was empty\n',
      stderr: 'The service delivers the changes.\n',
    })
    expect(await sync('')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/list is empty: .* header.*remove all members/) as string,
    })
    const dry = await sync('id\nu_2\nu_3\n', '--dry-run')
    expect(dry).toMatchObject({ code: 0, stdout: '+ u_3\n- u_1\n' })
    const again = await sync('{"id":"u_2"}\nbroken\n{"id":"u_3"}\n', '--json')
    expect(again).toMatchObject({ code: 3, stderr: '' })
    expect(again.records).toMatchObject([
      { v: 1, kind: 'rejected', line: 2, code: 'invalid_json' },
      { v: 1, kind: 'sync', outcome: 'incomplete', entered: 1, left: 0, rejected: 1 },
    ])
    await endpoint.received(3)
    const shown = await run(['audience', 'show', 'first_time_shopper', '--json', ...api])
    expect(shown.records).toMatchObject([
      { key: 'first_time_shopper', members: 3, memberList: [{}, {}, {}] },
    ])
    const removed = await run(['audience', 'remove', 'first_time_shopper', ...api])
    expect(removed).toMatchObject({ code: 0, stdout: 'first_time_shopper: 3 members removed\n' })
    expect(await run(['audience', 'remove', 'first_time_shopper', ...api])).toMatchObject({
      code: 2,
    })
    expect((await run(['audience', 'show', 'unknown', ...api])).code).toBe(2)
    const { stderr } = await sync('id\nu_1\n', '--id-column', 'x')
    expect(stderr).toMatch(
      /refuses: .*no column "x".* with --id-column \(idColumn in the admin API\)\n$/,
    )
    const many = await sync(`id\n${'a,b\n'.repeat(102)}`)
    expect(many.stderr).toContain(
      '\n... and 2 more rejected rows; --dry-run --json lists all of them\n',
    )
    const unknown = await sync('id\nu_1\n', '--source', 'app')
    expect(unknown).toMatchObject({ code: 2, stdout: '' })
    expect(unknown.stderr).toMatch(/refuses: .*source.*website/)
  })

  test('reads every page of members', async () => {
    const { api } = await serving(await newProject('', { destinations: [] }))
    const ids = Array.from({ length: 501 }, (_, index) => `u_${index}\n`)
    await run([...shoppers, ...api], { stdin: `id\n${ids.join('')}` })
    const argv = ['audience', 'show', 'first_time_shopper', '--members', '900', '--json', ...api]
    const [record] = (await run(argv)).records
    const members = record!['memberList'] as readonly { userId: string }[]
    expect(new Set(members.map(({ userId }) => userId)).size).toBe(501)
  })

  test('deletes users, and reports how far it is', async () => {
    const endpoint = await TestEndpoint.start()
    const { api } = await serving(await newProject(endpoint.url))
    const argv = ['delete', '--user-id', 'u_secret', '--regulation', 'DELETE_ONLY', ...api]
    expect(await run([...argv, '--dry-run'])).toMatchObject({
      code: 0,
      stdout:
        'DELETE_ONLY would make 1 regulation for 1 user, and send 1 notification; nothing was stored\n',
    })
    const made = await run(argv)
    expect(made.code).toBe(0)
    expect(made.stdout).toMatch(/^reg_\w{27}: 1 user\n$/)
    const [id = ''] = made.stdout.split(':')
    expect(made.stderr).toBe(
      `The service does the rest. To see its progress, run \`evroute regulations show ${id}\` with the same flags.\n`,
    )
    await endpoint.received(1)
    const show = ['regulations', 'show', id, ...api]
    await expect
      .poll(async () => (await run([...show, '--json'])).records)
      .toMatchObject([{ kind: 'regulation', overallStatus: 'FINISHED', subjectIds: ['u_secret'] }])
    expect((await run(show)).stdout).toContain('Users        1: u_secret\n')
    const listed = await run(['regulations', 'list', '--json', ...api])
    expect(listed.records).toMatchObject([{ kind: 'regulation', id, subjects: 1 }])
    expect((await run(['regulations', 'show', 'reg_1', ...api])).code).toBe(2)
    const wrong = await run([...argv, '--source', 'app'])
    expect(wrong).toMatchObject({ code: 2, stdout: '' })
    expect(wrong.stderr).toContain('website')
  })

  test('is used if it delivers from the store of the configuration', async () => {
    const endpoint = await TestEndpoint.start()
    const port = await freePort()
    const project = await newProject(endpoint.url, { admin: { port, token } })
    await serving(project)
    const synced = await project.run(shoppers, { stdin: 'id\nu_1\n' })
    expect(synced).toMatchObject({ code: 0, stderr: 'The service delivers the changes.\n' })
    const listed = await project.run(['audience', 'list', '--json'])
    expect(listed.records).toMatchObject([{ key: 'first_time_shopper' }])
  })

  test.each(['127.0.0.2', '0.0.0.0', '::1'])('is asked if its admin API is at %s', async (host) => {
    const endpoint = await TestEndpoint.start()
    const port = await freePort()
    const project = await newProject(endpoint.url, {
      admin: { host, port, token },
      store: 'memory:',
    })
    await serving(project)
    expect((await project.run(shoppers, { stdin: 'id\nu_1\n' })).code).toBe(0)
  })

  test('is used if the store is in memory', async () => {
    const endpoint = await TestEndpoint.start()
    const port = await freePort()
    const project = await newProject(endpoint.url, { admin: { port, token }, store: 'memory:' })
    const refused = await project.run(shoppers, { stdin: 'id\nu_1\n' })
    expect(refused).toMatchObject({ code: 7, stdout: '' })
    expect(refused.stderr).toBe(
      'evroute: The store is in memory, so everything that a command does is lost when the command ends, and no ' +
        `service answers at http://127.0.0.1:${port}/. Start \`evroute serve\` with an admin API, or ` +
        'name a persistent store: --store sqlite:<file> or postgres://...\n',
    )
    expect((await project.run(['audience', 'list'])).code).toBe(7)
    await serving(project)
    expect((await project.run(shoppers, { stdin: 'id\nu_1\n' })).code).toBe(0)
    const listed = await project.run(['audience', 'list', '--json'])
    expect(listed.records).toMatchObject([{ key: 'first_time_shopper', members: 1 }])
  })

  test.each([
    [{ admin: null }, 'and the configuration has no admin API to ask'],
    [{}, 'and the admin API of the configuration uses a random free port'],
  ])('hidden by %j is reported, with a remedy', async (changes, why) => {
    const project = await newProject('http://127.0.0.1:1/', changes)
    await serving(project)
    const { code, stdout, stderr } = await project.run(shoppers, { stdin: 'id\nu_1\n' })
    expect({ code, stdout }).toEqual({ code: 7, stdout: '' })
    expect(stderr).toContain(
      `Another process is delivering from ${project.store}, ${why}. If it is`,
    )
  })

  test('is not used for a different store', async () => {
    const project = await newProject('http://127.0.0.1:1/')
    await serving(project)
    const other = await newProject('http://127.0.0.1:1/')
    const flags = ['--store', project.store]
    const { code, stderr } = await other.run([...shoppers, ...flags], { stdin: 'id\nu_1\n' })
    expect(code).toBe(7)
    expect(stderr).not.toContain('admin API of the configuration')
  })
})

describe('the answer of a service', () => {
  const sync = (url: string) =>
    run([...shoppers, '--api', url, '--token', token], { stdin: 'id\nu_1\n' })

  test.each([
    { status: 409, code: 'sync_running', ends: 7, message: '/ refuses: why' },
    { status: 409, code: 'audience_taken', ends: 2, message: 'refuses: why' },
    { status: 401, code: 'unauthorized', ends: 2, message: 'does not accept the token' },
    { status: 503, code: 'store_unavailable', ends: 7, message: 'See the log of the service' },
  ])(
    'with $status $code before the list is read ends the command with $ends',
    async ({ status, code, ends, message }) => {
      const url = await serverThat((_request, response) => {
        response.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
        response.end(JSON.stringify({ error: { code, message: 'why' } }))
      })
      const ended = await sync(url)
      expect(ended).toMatchObject({ code: ends, stdout: '' })
      expect(ended.stderr).toContain(message)
    },
  )

  const errorLine = (code: string) => lines({ kind: 'error', code, message: 'why' })
  test.each([
    { body: lines({ kind: 'progress', ...counts }), ends: 7, message: 'its answer ended early' },
    { body: errorLine('internal_error'), ends: 7, message: 'did not finish: why' },
    { body: errorLine('invalid_request'), ends: 2, message: 'refuses: why' },
    {
      body: lines({ kind: 'hello' }),
      ends: 2,
      message: 'is not an admin API of this version of evroute',
    },
    { body: 'hello', ends: 2, message: 'is not an admin API of this version of evroute' },
  ])('of $body ends the command with $ends', async ({ body, ends, message }) => {
    const url = await serverThat((request, response) => {
      request.resume().on('end', () => response.writeHead(200).end(body))
    })
    const ended = await sync(url)
    expect(ended).toMatchObject({ code: ends, stdout: '' })
    expect(ended.stderr).toContain(message)
  })

  test('in a dry run reports how many members have been compared', async () => {
    const url = await serverThat((request, response) => {
      const updates = [{ kind: 'comparing', members: 200_000 }, last('synced')]
      request.resume().on('end', () => response.writeHead(200).end(lines(...updates)))
    })
    const compared: number[] = []
    const { signal } = new AbortController()
    const { audiences } = remoteOperations(new ServiceApi({ url, token }, signal))
    const outcome = await audiences.sync(
      {
        ...{ name: undefined, key: 'vip', computationClass: 'audience', sourceId: undefined },
        ...{ columns: { userIds: [], value: undefined }, isDryRun: true },
        listener: {
          rejected: () => undefined,
          changed: () => undefined,
          comparing: (members) => compared.push(members),
          progress: () => undefined,
        },
        signal: new AbortController().signal,
      },
      Readable.from([Buffer.from('id\n')]),
    )
    expect([outcome.kind, compared]).toEqual(['synced', [200_000]])
  })

  test('that is cut off ends the command with 7', async () => {
    const url = await serverThat((request, response) => {
      response.write(lines({ kind: 'progress', ...counts }), () => request.socket.destroy())
    })
    const ended = await sync(url)
    expect(ended).toMatchObject({ code: 7, stdout: '' })
    expect(ended.stderr).toContain('Cannot reach the service at')
    expect(await sync((await unreachableUrl()).replace('/hook', ''))).toMatchObject({ code: 7 })
  })

  test('that a sync ended early or was superseded ends the command with 7', async () => {
    for (const outcome of ['superseded', 'ended']) {
      const url = await serverThat((request, response) => {
        const answer = lines(last(outcome))
        request.resume().on('end', () => response.writeHead(200).end(answer))
      })
      const ended = await sync(url)
      expect(ended).toMatchObject({
        code: 7,
        stdout: 'vip: 1 entered, 0 changed, 0 left, 2 unchanged\n',
      })
      expect(ended.stderr.includes('The service delivers')).toBe(outcome === 'superseded')
    }
  })
})

describe('a list that is sent to a service', () => {
  /** A service that reads its uploads, and reports how they end. */
  async function reader() {
    let resolveEnd: (how: 'whole' | 'cut') => void = () => undefined
    const end = new Promise<'whole' | 'cut'>((resolve) => (resolveEnd = resolve))
    let began = (): void => undefined
    const begun = new Promise<void>((resolve) => (began = resolve))
    const url = await serverThat((request) => {
      request.on('data', began).on('end', () => resolveEnd('whole'))
      request.on('close', () => resolveEnd('cut')).on('error', () => undefined)
    })
    return { url, end, begun }
  }

  test('is cut off when the command is stopped, so that it does not count as complete', async () => {
    const { url, end, begun } = await reader()
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('id\nu_1\n')
      await new Promise(() => undefined)
    }
    const argv = [...shoppers, '--api', url, '--token', token, '--json']
    const command = start(argv, { stdin: endless() })
    await begun
    command.stop()
    const { code, records, stderr } = await command.ended
    expect(code).toBe(130)
    expect(records).toMatchObject([{ kind: 'sync', outcome: 'ended', audience: null }])
    expect(stderr).toContain('Interrupted after 0 rows')
    expect(await end).toBe('cut')
  })

  test('is cut off if the rest cannot be read', async () => {
    const { url, end, begun } = await reader()
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('id\nu_1\n')
      await begun
      throw new Error('the disk is gone')
    }
    const argv = [...shoppers, '--api', url, '--token', token]
    const { code, stderr } = await run(argv, { stdin: failing() })
    expect(code).toBe(1)
    expect(stderr).toContain('the disk is gone')
    expect(await end).toBe('cut')
  })

  test('is sent completely, even if it has several megabytes', async () => {
    let bytes = 0
    const url = await serverThat((request, response) => {
      request.on('data', (chunk: Buffer) => (bytes += chunk.length))
      request.on('end', () => response.writeHead(200).end(lines({ kind: 'hello' })))
    })
    async function* large(): AsyncGenerator<Uint8Array> {
      for (let index = 0; index < 100; index += 1) yield await Promise.resolve(Buffer.alloc(65_536))
    }
    await run([...shoppers, '--api', url, '--token', token], { stdin: large() })
    expect(bytes).toBe(6_553_600)
  })
})
