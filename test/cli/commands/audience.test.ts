import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../../src/store/index.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { unreachableUrl } from '../../support/free-port.ts'
import { run } from '../../support/io.ts'
import { newProject, withoutTime } from '../store-access/project.ts'

const shoppers = ['audience', 'sync', '--name', 'First-Time Shopper', '--file']

/** The user and the value in each call. */
const traitsOf = (endpoint: TestEndpoint): readonly unknown[] =>
  endpoint.bodies.map((body) => {
    const { userId, traits } = body as { userId: string; traits: object }
    return { userId, ...traits }
  })

describe('audience sync', () => {
  test('sends a call for every member the first time, and then one for each change', async () => {
    const endpoint = await TestEndpoint.start()
    const project = await newProject(endpoint.url)
    const first = await project.run([...shoppers, await project.file('a.csv', 'id\nu_1\nu_2\n')])
    expect(first).toMatchObject({
      code: 0,
      stdout:
        'first_time_shopper: 2 entered, 0 changed, 0 left, 0 unchanged; it is new or was empty\n',
    })
    expect(withoutTime(first.stderr)).toBe('2 accepted = 2 routed · 2 deliveries = 2 delivered\n')
    const second = await project.run([
      ...shoppers,
      await project.file('b.ndjson.gz', gzipSync('{"userId":"u_2"}\n{"userId":"u_3"}\n')),
    ])
    expect(second.stdout).toBe('first_time_shopper: 1 entered, 0 changed, 1 left, 1 unchanged\n')
    expect(second.code).toBe(0)
    expect(traitsOf(endpoint)).toEqual([
      { userId: 'u_1', first_time_shopper: true },
      { userId: 'u_2', first_time_shopper: true },
      { userId: 'u_3', first_time_shopper: true },
      { userId: 'u_1', first_time_shopper: false },
    ])
  })

  test('prints records, and removes no member if rows were rejected', async () => {
    const endpoint = await TestEndpoint.start()
    const project = await newProject(endpoint.url)
    await project.run([...shoppers, await project.file('a.csv', 'id\nu_1\n')])
    const argv = [...shoppers, '-', '--json']
    const stdin = '{"userId":"u_2"}\nnot json\n'
    const { code, records, stderr } = await project.run(argv, { stdin })
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' })
    expect(records).toMatchObject([
      { v: 1, kind: 'rejected', line: 2, code: 'invalid_json' },
      {
        v: 1,
        kind: 'sync',
        outcome: 'incomplete',
        dryRun: false,
        audience: { key: 'first_time_shopper', members: 2, source: 'website' },
        ...{ read: 2, rejected: 1, entered: 1, left: 0 },
      },
      { v: 1, kind: 'summary', read: 1, accepted: 1, rejected: 0, deliveries: 1, delivered: 1 },
    ])
    expect(Object.keys(records[2]!).slice(2, 5)).toEqual(['read', 'accepted', 'rejected'])
    const text = await project.run([...shoppers, '-'], { stdin })
    expect(text.code).toBe(3)
    expect(text.stdout).toContain('1 unchanged (1 rejected)')
    expect(text.stderr).toMatch(
      /^line 2: .* \(invalid_json\)\nNo member was removed, because a rejected row/,
    )
  })

  test('in a dry run, shows which members would change, without control characters, and sends nothing', async () => {
    const endpoint = await TestEndpoint.start()
    const project = await newProject(endpoint.url)
    await project.run([...shoppers, await project.file('a.csv', 'id\nu_1\n')])
    const rows = [{ userId: 'u_2\u001b[31m', email: 'u_2@example.com' }, { anonymousId: 'a_1' }]
    const stdin = rows.map((row) => `${JSON.stringify(row)}\n`).join('')
    const dry = await project.run([...shoppers, '-', '--dry-run'], { stdin })
    expect(dry.code).toBe(0)
    expect(dry.stdout).not.toContain('\u001b')
    expect(dry.stdout.split('\n').toSorted()).toEqual([
      '',
      '+ anonymous a_1',
      '+ u_2 (u_2@example.com)',
      '- u_1',
    ])
    expect(dry.stderr).toMatch(/^Dry run of first_time_shopper: \d entered, 0 changed, 1 left/)
    const json = await project.run([...shoppers, '-', '--dry-run', '--json'], { stdin })
    expect(json.records.at(-1)).toMatchObject({ kind: 'sync', dryRun: true, left: 1 })
    expect(json.records).toContainEqual({
      ...{ v: 1, kind: 'change' },
      ...{ userId: 'u_1', anonymousId: null, email: null, value: null },
    })
    expect(endpoint.requests).toHaveLength(1)
  })

  test.each([
    [[...shoppers, '-', '--dry-run'], '+ u_2\n+ u_3\n'],
    [['audience', 'remove', 'first_time_shopper', '--dry-run'], '- u_1\n'],
  ])('with %j, prints no summary if the reader left', async (argv, stdout) => {
    const project = await newProject('http://127.0.0.1:1/', { destinations: [] })
    await project.run([...shoppers, '-'], { stdin: 'id\nu_1\n' })
    const command = project.start(argv, { stdin: 'id\nu_2\nu_3\n' })
    command.stdout.once('written', () => command.stop('output_closed'))
    expect(await command.ended).toMatchObject({ code: 0, stdout, stderr: '' })
  })

  test('in a dry run, opens the store only for reading, and creates none', async () => {
    const endpoint = await TestEndpoint.start(503)
    const project = await newProject(endpoint.url)
    const dry = () => project.run([...shoppers, '-', '--dry-run'], { stdin: 'id\nu_2\n' })
    const first = await dry()
    expect(first).toMatchObject({ code: 0, stdout: '+ u_2\n' })
    expect(first.stderr).toContain('0 unchanged; it is new or was empty\n')
    expect(existsSync(join(project.folder, 'evroute.db'))).toBe(false)
    const command = project.start([...shoppers, '-'], { stdin: 'id\nu_1\n' })
    await command.stderr.matching(/A failed webhook is retried/)
    const before = endpoint.requests.length
    // A command that only reads may run while another process delivers.
    expect(await dry()).toMatchObject({ code: 0, stdout: '+ u_2\n- u_1\n' })
    command.stop()
    await command.ended
    const remove = ['audience', 'remove', 'first_time_shopper', '--dry-run']
    expect(await project.run(remove)).toMatchObject({ code: 0, stdout: '- u_1\n' })
    expect(endpoint.requests).toHaveLength(before)
  })

  test('refuses a list that has no header, and changes nothing', async () => {
    const project = await newProject('http://127.0.0.1:1/', { destinations: [] })
    await project.run([...shoppers, '-'], { stdin: 'id\nu_1\n' })
    const { code, stdout, stderr } = await project.run([...shoppers, '-'], { stdin: '' })
    expect({ code, stdout }).toEqual({ code: 7, stdout: '' })
    expect(stderr).toContain(
      "evroute: The list is empty: it doesn't even have a header. To remove all members",
    )
    const listed = await project.run(['audience', 'list', '--json'])
    expect(listed.records).toMatchObject([{ members: 1 }])
  })

  test('shows the value that a trait would have', async () => {
    const project = await newProject(await unreachableUrl())
    const argv = ['audience', 'sync', '--key', 'total', '--class', 'trait', '--file', '-']
    const stdin = 'customer,sum\nu_3,450\n'
    const columns = ['--id-column', 'customer', '--value-column', 'sum']
    const { code, stdout } = await project.run([...argv, ...columns, '--dry-run'], { stdin })
    expect({ code, stdout }).toEqual({ code: 0, stdout: '~ u_3 450\n' })
  })

  test('ends with 4 and reports the call if an endpoint refuses it', async () => {
    const endpoint = await TestEndpoint.start(404)
    const project = await newProject(endpoint.url)
    const { code, stderr } = await project.run([...shoppers, '-'], { stdin: 'id\nu_1\n' })
    expect(code).toBe(4)
    expect(stderr).toMatch(/identify .* failed after 1 attempt: answered 404\n/)
    expect(stderr).toContain('1 delivery = 0 delivered + 1 failed')
  })

  test('keeps undelivered calls when it is interrupted', async () => {
    const endpoint = await TestEndpoint.start(503)
    const project = await newProject(endpoint.url)
    const command = project.start([...shoppers, '-'], { stdin: 'id\nu_1\n' })
    await command.stderr.matching(/is retried until its retry window ends/)
    command.stop()
    const { code, stdout, stderr } = await command.ended
    expect(code).toBe(130)
    expect(stdout).toContain('1 entered')
    expect(stderr).toContain('Interrupted: 1 of 1 delivery pending, kept in sqlite:')
    const store = await openStore(project.store)
    onTestFinished(() => store.close())
    expect(await store.ledger()).toMatchObject({ deliveries: 1, pending: 1 })
  })

  test.each(['SIGINT', 'output_closed'] as const)(
    'removes no member if %s stops it while it reads',
    async (reason) => {
      const endpoint = await TestEndpoint.start()
      const project = await newProject(endpoint.url)
      await project.run([...shoppers, '-'], { stdin: 'id\nu_1\n' })
      let waits = (): void => undefined
      const isWaiting = new Promise<void>((resolve) => (waits = resolve))
      async function* endless(): AsyncGenerator<Uint8Array> {
        yield Buffer.from('id\nu_2\n')
        waits()
        await new Promise(() => undefined)
      }
      const command = project.start([...shoppers, '-'], { stdin: endless() })
      await isWaiting
      command.stop(reason)
      const ended = await command.ended
      expect(ended.code).toBe(130)
      expect(ended.stderr).toMatch(
        /^Interrupted after 0 rows\. The changes so far are kept; run the same command again to continue\n/,
      )
      const store = await openStore(project.store)
      onTestFinished(() => store.close())
      const members = await store.audiences.members({
        ...{ key: 'first_time_shopper', limit: 9, after: null },
      })
      expect(members.map(({ identity }) => identity.userId)).toContain('u_1')
    },
  )

  test.each<[readonly string[], string, string]>([
    [['--file', 'x'], 'Cannot tell which audience is meant', '--key'],
    [['--name', 'VIP'], '--file <path> is missing', 'Try `evroute audience sync '],
    [['--key', 'vip', '--file', '-', '--class', 'list'], 'cannot be "list"', 'Allowed choices are'],
    [['--key', 'vip', '--file', '-', '--value-column', 'x'], 'have no values', '--class trait'],
    [['--name', 'Email', '--file', '-'], 'holds the email address of the member', '--key'],
    [['--name', '!?', '--file', '-'], 'Cannot make a key', '--key'],
    [
      ['--key', 'vip', '--file', '-', '--source', 'webiste'],
      'no source "webiste"',
      'but there is "website"',
    ],
    [
      ['--key', 'vip', '--file', '-', '--id-column', 'x'],
      'x',
      'Name one of these columns with --id-column (idColumn in the admin API).',
    ],
    [
      ['--key', 'v', '--file', '-', '--class', 'trait'],
      'no column "value"',
      'with --value-column (valueColumn in the admin API).',
    ],
    [['--key', 'vip', '--file', '-', '--token', 'x'], 'Cannot use --token without --api', ''],
    [['--key', 'v', '--file', '-', '--api', 'http://127.0.0.1:1'], '--api together with', ''],
  ])('%j ends with 2 and says what to do', async (flags, message, hint) => {
    const project = await newProject('http://127.0.0.1:1/')
    const argv = ['audience', 'sync', ...flags]
    const { code, stdout, stderr } = await project.run(argv, { stdin: 'id\nu_1\n' })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toContain(hint)
  })

  test('requires a source if there are several, and a key that no other source has', async () => {
    const sources = ['website', 'app'].map((id) => ({ id, writeKeys: [`wk_${id}`] }))
    const project = await newProject('http://127.0.0.1:1/', { sources, destinations: [] })
    const sync = (...flags: readonly string[]) =>
      project.run([...shoppers, '-', ...flags], { stdin: 'id\nu_1\n' })
    expect((await sync()).stderr).toContain(
      'No source is given: choose from website, app. Name a source with --source.',
    )
    expect(await sync('--source', 'app')).toMatchObject({ code: 0 })
    const taken = await sync('--source', 'website')
    expect(taken.code).toBe(2)
    expect(taken.stderr).toContain(
      'The key first_time_shopper belongs to an audience of the source app',
    )
  })
})

describe('audience list, show and remove', () => {
  async function filled() {
    const endpoint = await TestEndpoint.start()
    const project = await newProject(endpoint.url)
    const stdin = 'id\nu_1\nu_2\n'
    await project.run([...shoppers, '-'], { stdin })
    const trait = ['audience', 'sync', '--name', 'Total', '--class', 'trait', '--file', '-']
    await project.run(trait, { stdin: 'id,value\nu_1,450\n' })
    return { endpoint, project }
  }

  test('lists and shows audiences, as text and as records', async () => {
    const { project } = await filled()
    const { code, stdout, stderr } = await project.run(['audience', 'list'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.split('\n')).toEqual([
      'key                 members  synced  class     source   name',
      expect.stringMatching(/^first_time_shopper {8}2 {2}\ds ago +audience {2}website {2}First-T/),
      expect.stringMatching(/^total {21}1 {2}\ds ago +trait {5}website {2}Total$/),
      '',
    ])
    const narrow = await project.run(['audience', 'list'], { isTTY: true, columns: 30 })
    const lines = stripVTControlCharacters(narrow.stdout).trimEnd().split('\n')
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(30)
    const listed = await project.run(['audience', 'list', '--json'])
    expect(listed.records).toMatchObject([
      { v: 1, kind: 'audience', key: 'first_time_shopper', class: 'audience', members: 2 },
      { v: 1, kind: 'audience', key: 'total', class: 'trait', members: 1 },
    ])
    const argv = ['audience', 'show', 'first_time_shopper']
    const shown = await project.run([...argv, '--members', '1'])
    expect(shown.stdout).toMatch(/^Key {10}first_time_shopper\nName {9}First-Time Shopper\n/)
    expect(shown.stdout).toMatch(/\n\nuser {2}anonymous {2}email\nu_\d {3}- {10}-\n$/)
    expect(shown.stderr).toBe('... and 1 more; see --members\n')
    const value = await project.run(['audience', 'show', 'total', '--json'])
    expect(value.records).toMatchObject([
      { kind: 'audience', key: 'total', memberList: [{ userId: 'u_1', value: 450 }] },
    ])
    const wrong = await project.run(['audience', 'show', 'totale'])
    expect(wrong).toMatchObject({ code: 2, stdout: '' })
    expect(wrong.stderr).toContain('but there is "total"')
  })

  test('has nothing to list before there is a store', async () => {
    const project = await newProject('http://127.0.0.1:1/')
    for (const what of ['audience', 'regulations']) {
      const { code, stdout, stderr } = await project.run([what, 'list', '--json'])
      expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
      expect(stderr).toContain('There is no store yet')
    }
    // A named store that doesn't exist is most likely a mistake.
    expect((await project.run(['audience', 'list', '--store', project.store])).code).toBe(7)
  })

  test('needs no configuration if --store names a store', async () => {
    const { project } = await filled()
    const env = { EVROUTE_STORE: project.store }
    const { code, records } = await project.run(['audience', 'list', '--json'], { env })
    expect({ code, count: records.length }).toEqual({ code: 0, count: 2 })
  })

  test('removes an audience once every member has got its call', async () => {
    const { project, endpoint } = await filled()
    const argv = ['audience', 'remove', 'first_time_shopper']
    const dry = await project.run([...argv, '--dry-run'])
    expect(dry.code).toBe(0)
    expect(dry.stdout.split('\n').toSorted()).toEqual(['', '- u_1', '- u_2'])
    expect(dry.stderr).toBe('first_time_shopper: 2 members would be removed\n')
    const removed = await project.run(argv)
    expect(removed).toMatchObject({ code: 0, stdout: 'first_time_shopper: 2 members removed\n' })
    expect(withoutTime(removed.stderr)).toBe('2 accepted = 2 routed · 2 deliveries = 2 delivered\n')
    expect(traitsOf(endpoint).slice(3)).toContainEqual({ userId: 'u_2', first_time_shopper: false })
    const again = await project.run(argv)
    expect(again.code).toBe(2)
    expect(again.stderr).toContain('no audience "first_time_shopper"')
    const trait = await project.run(['audience', 'remove', 'total', '--json'])
    expect(trait.records).toMatchObject([
      { kind: 'removal', outcome: 'removed', audience: { key: 'total' }, left: 1 },
      { kind: 'summary', accepted: 1, delivered: 1 },
    ])
    expect((await project.run(['audience', 'list'])).stderr).toContain('There are no audiences')
  })
})

test('an unknown audience command is refused with the list of commands', async () => {
  const missing = await run(['audience'])
  expect(missing.code).toBe(2)
  expect(missing.stderr).toContain('Its commands are sync, list, show, remove')
  expect((await run(['audience', 'lst'])).stderr).toContain('Did you mean list?')
})
