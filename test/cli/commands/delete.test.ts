import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../../src/store/index.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { run } from '../../support/io.ts'
import { newProject, serving } from '../store-access/project.ts'

const id = /reg_\w{27}/

describe('delete', () => {
  test('erases and notifies, and reports the work without naming users', async () => {
    const endpoint = await TestEndpoint.start()
    const project = await newProject(endpoint.url)
    const sync = ['audience', 'sync', '--name', 'VIP', '--file', '-']
    await project.run(sync, { stdin: 'id\nu_secret\nu_2\n' })
    const users = ['--user-id', 'u_secret', '--user-id', 'u_secret']
    const argv = ['delete', ...users, '--regulation', 'SUPPRESS_WITH_DELETE']
    const { code, stdout, stderr } = await project.run(argv)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^reg_\w{27}: 1 user\n\nRegulation {3}reg_\w{27}\nType {9}SUPPRESS_W/)
    expect(stdout).toContain('Status       FINISHED\nUsers        1\nSources      all\n')
    expect(stdout).toContain('0 waiting deliveries, 1 past delivery, 1 membership erased')
    expect(stdout).toMatch(/\n\nsource .*\nwebsite {2}crm {10}FINISHED {10}1 {8}0 {7}0 {8}0\n$/)
    expect(stderr).toMatch(/^1 accepted = 1 routed · 1 delivery = 1 delivered /)
    expect(stdout + stderr).not.toContain('u_secret')
    expect(endpoint.bodies.at(-1)).toMatchObject({ type: 'delete', userId: 'u_secret' })
    const shown = await project.run(['regulations', 'show', id.exec(stdout)![0]])
    expect(shown.code).toBe(0)
    expect(shown.stdout).toContain('Users        1: u_secret\n')
    // From now on, u_secret is suppressed.
    const again = await project.run(sync, { stdin: 'id\nu_secret\nu_2\n' })
    expect(again.stdout).toContain('1 unchanged (1 suppressed)')
  })

  test('prints records, and one regulation for every 5,000 users', async () => {
    const project = await newProject('http://127.0.0.1:1/', { destinations: [] })
    const users = Array.from({ length: 5_001 }, (_, index) => `${index}\n`)
    const file = await project.file('left.csv', `customer\n${users.join('')}`)
    const argv = ['delete', '--file', file, '--id-column', 'customer', '--json']
    const { code, records, stderr } = await project.run([...argv, '--regulation', 'SUPPRESS_ONLY'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const regulationType = 'SUPPRESS_ONLY'
    expect(records).toMatchObject([
      { v: 1, kind: 'created', regulationType, subjects: 5_000 },
      { v: 1, kind: 'created', regulationType, subjects: 1 },
      { v: 1, kind: 'regulation', overallStatus: 'FINISHED', subjects: 5_000 },
      { v: 1, kind: 'regulation', overallStatus: 'FINISHED', subjects: 1 },
      { kind: 'summary', read: 0, accepted: 0, rejected: 0 },
    ])
    expect(records.filter((record) => 'subjectIds' in record)).toEqual([])
    const listed = await project.run(['regulations', 'list', '--limit', '1', '--json'])
    expect(listed.records).toMatchObject([{ kind: 'regulation', subjects: 1 }])
    expect(listed.stderr).toBe('... and more; see --limit\n')
  })

  test('continues past rows that name no user, and ends with 3', async () => {
    const project = await newProject('http://127.0.0.1:1/', { destinations: [] })
    const argv = ['delete', '--file', '-', '--regulation', 'SUPPRESS_ONLY']
    const stdin = `{"userId":"u_1"}\nnot json\n{"userId":"${'u'.repeat(32_769)}"}\n`
    const { code, stdout, stderr } = await project.run(argv, { stdin })
    expect(code).toBe(3)
    expect(stdout).toMatch(/^reg_\w+: 1 user\n/)
    expect(stderr).toMatch(
      /^line 2: .* \(invalid_json\)\nline 3: .*at most 32768 bytes \(event_too_large\)\n/,
    )
    const nothing = await project.run(argv, { stdin: '{}\n' })
    expect(nothing).toMatchObject({ code: 3, stdout: '' })
    expect(nothing.stderr).toContain('Nothing was stored: no row names a user')
  })

  test('stores nothing from a list that cannot be read to its end', async () => {
    const project = await newProject('http://127.0.0.1:1/', { destinations: [] })
    const users = Array.from({ length: 12_000 }, (_, index) => `${index}-${index * 7_919}\n`)
    const whole = gzipSync(`id\n${users.join('')}`)
    const file = await project.file('left.csv.gz', whole.subarray(0, whole.length - 20))
    const argv = ['delete', '--file', file, '--regulation', 'SUPPRESS_ONLY']
    const { code, stdout, stderr } = await project.run(argv)
    expect({ code, stdout }).toEqual({ code: 7, stdout: '' })
    expect(stderr).toContain('The compressed data ends early')
    const listed = await project.run(['regulations', 'list'])
    expect(listed.stdout).toBe('')
  })

  test('after an interrupt, says how much is stored, and what a second run does', async () => {
    const project = await newProject('http://127.0.0.1:1/', { destinations: [] })
    const users = Array.from({ length: 50_000 }, (_, index) => `${index}\n`)
    const file = await project.file('left.csv', `id\n${users.join('')}`)
    const command = project.start(['delete', '--file', file, '--regulation', 'DELETE_ONLY'])
    await command.stdout.matching(/5,000 users/)
    command.stop()
    const { code, stderr } = await command.ended
    expect(code).toBe(130)
    expect(stderr).toMatch(
      /Interrupted: .* stored; some users are not covered\. Running the command again notifies destinations twice about the users in those regulations/,
    )
  })

  test('says that UNSUPPRESS for one source does not lift a suppression for all', async () => {
    const project = await newProject('http://127.0.0.1:1/', { destinations: [] })
    const lift = ['delete', '--user-id', 'u_1', '--regulation', 'UNSUPPRESS']
    const note = 'A user who is suppressed for all sources stays suppressed'
    expect((await project.run([...lift, '--source', 'website'])).stderr).toContain(note)
    expect((await project.run(lift)).stderr).not.toContain(note)
  })

  test('in a dry run, refuses a source that the service does not have', async () => {
    const project = await newProject('http://127.0.0.1:1/')
    const { api } = await serving(project)
    const argv = ['delete', '--user-id', 'u_1', '--regulation', 'DELETE_ONLY', '--dry-run', ...api]
    const known = await run([...argv, '--source', 'website', '--json'])
    expect(known.records).toMatchObject([{ kind: 'plan', notifications: 1 }])
    expect(await run([...argv, '--source', 'website', '--source', 'nope'])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('There is no source "nope"') as string,
    })
  })

  test('in a dry run, reports how much it would do, and stores nothing', async () => {
    const sources = ['website', 'app'].map((name) => ({ id: name, writeKeys: [`wk_${name}`] }))
    const destination = {
      type: 'Webhooks',
      sources: ['website', 'app'],
      endpoints: [{ url: 'http://127.0.0.1:1/' }],
    }
    const destinations = [
      { ...destination, id: 'crm' },
      { ...destination, id: 'mail', sources: ['app'] },
      { ...destination, id: 'off', enabled: false },
    ]
    const project = await newProject('', { sources, destinations })
    const plan = (type: string, ...flags: readonly string[]) =>
      project.run(['delete', '--file', '-', '--regulation', type, '--dry-run', ...flags], {
        stdin: 'id\nu_1\nu_2\nu_1\n',
      })
    expect(await plan('DELETE_ONLY')).toMatchObject({
      ...{ code: 0, stderr: '' },
      stdout:
        'DELETE_ONLY would make 1 regulation for 2 users, and send 6 notifications; nothing was stored\n',
    })
    expect((await plan('DELETE_ONLY', '--source', 'website', '--json')).records).toEqual([
      {
        ...{ v: 1, kind: 'plan', regulationType: 'DELETE_ONLY' },
        ...{ subjects: 2, regulations: 1, notifications: 2 },
      },
    ])
    expect((await plan('DELETE_INTERNAL')).stdout).toContain('0 notifications')
    for (const type of ['DELETE_ONLY', 'DELETE_INTERNAL']) {
      expect((await plan(type, '--source', 'ap')).stderr).toContain(', but there is "app"')
    }
    expect((await project.run(['regulations', 'list'])).stderr).toContain('There is no store yet')
  })

  test('refuses a list that has no header', async () => {
    const project = await newProject('http://127.0.0.1:1/')
    const argv = ['delete', '--regulation', 'DELETE_ONLY', '--file', '-']
    const { code, stdout, stderr } = await project.run(argv, { stdin: '' })
    expect({ code, stdout }).toEqual({ code: 7, stdout: '' })
    expect(stderr).toContain("The list is empty: it doesn't even have a header. Check the program")
  })

  test('ends with 4 if an endpoint refuses a notification', async () => {
    const project = await newProject((await TestEndpoint.start(410)).url)
    const argv = ['delete', '--user-id', 'u_1', '--regulation', 'DELETE_ONLY']
    const { code, stdout, stderr } = await project.run(argv)
    expect(code).toBe(4)
    expect(stdout).toContain('Status       FAILED\n')
    expect(stderr).toMatch(/\ndelete reg_\w+\/1 failed after 1 attempt: answered 410\n/)
  })

  test('keeps waiting deliveries when it is interrupted', async () => {
    const project = await newProject((await TestEndpoint.start(503)).url)
    const argv = ['delete', '--user-id', 'u_1', '--regulation', 'DELETE_ONLY']
    const command = project.start(argv)
    await command.stderr.matching(/A failed webhook is retried/)
    command.stop()
    const { code, stdout, stderr } = await command.ended
    expect(code).toBe(130)
    expect(stdout).toMatch(/Status {7}(INITIALIZED|RUNNING)\n/)
    expect(stderr).toContain('Interrupted: 1 of 1 delivery pending, kept in')
    const store = await openStore(project.store)
    onTestFinished(() => store.close())
    expect(await store.regulations.list({ limit: 9 })).toMatchObject([{ finishedAtMs: null }])
  })

  test.each<[readonly string[], string, string]>([
    [
      ['--user-id', 'u_1'],
      'what to do with the users',
      '  UNSUPPRESS                     resume accepting',
    ],
    [['--user-id', 'u_1', '--regulation', 'DELETE'], 'cannot be "DELETE"', 'Allowed choices are'],
    [['--regulation', 'DELETE_ONLY'], 'Cannot tell which users are meant', '--file'],
    [['--regulation', 'DELETE_ONLY', '--user-id', 'u', '--file', '-'], 'together with', ''],
    [['--regulation', 'DELETE_ONLY', '--user-id', 'u', '--id-column', 'x'], 'without --file', ''],
    [
      ['--regulation', 'DELETE_ONLY', '--user-id', ''],
      'an empty --user-id',
      'Check the variable that it comes from',
    ],
    [['--regulation', 'DELETE_ONLY', '--file', '-'], 'the list is empty', 'CSV with a header'],
    [
      ['--regulation', 'DELETE_ONLY', '--user-id', 'u', '--source', 'webiste'],
      'There is no source "webiste"',
      ', but there is "website"',
    ],
    [
      ['--regulation', 'DELETE_ONLY', '--file', '-', '--id-column', 'x'],
      'no column "x"',
      'with --id-column (',
    ],
    [
      ['--regulation', 'DELETE_ONLY', '--file', '-', '--id-column', 'x', '--dry-run'],
      'no column "x"',
      'with --id-column (',
    ],
  ])('%j ends with 2 and says what to do', async (flags, message, hint) => {
    const project = await newProject('http://127.0.0.1:1/')
    const { code, stdout, stderr } = await project.run(['delete', ...flags], { stdin: 'id\n' })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toContain(hint)
  })
})

test('a dry run of delete lists 100 rejected rows, and counts the others', async () => {
  const project = await newProject('http://127.0.0.1:1/')
  const argv = ['delete', '--regulation', 'DELETE_ONLY', '--file', '-', '--dry-run']
  const { code, stderr } = await project.run(argv, { stdin: `id\nu_1\n${'a,b\n'.repeat(102)}` })
  expect(code).toBe(3)
  expect(stderr.match(/^line /gm)).toHaveLength(100)
  expect(stderr).toContain('... and 2 more rejected rows')
})

test('delete names the flag for a list whose id column has a different name', async () => {
  const project = await newProject('http://127.0.0.1:1/')
  const argv = ['delete', '--regulation', 'DELETE_ONLY', '--file', '-']
  const { code, stderr } = await project.run(argv, { stdin: 'customer\nu_1\n' })
  expect(code).toBe(2)
  expect(stderr).toContain(
    'Name the column that contains the ids with --id-column (idColumn in the admin API).',
  )
})

describe('regulations', () => {
  test('lists and shows regulations, as text that fits the terminal and as records', async () => {
    const project = await newProject('http://127.0.0.1:1/', { destinations: [] })
    const argv = ['delete', '--user-id', 'u_1', '--regulation', 'DELETE_INTERNAL']
    const [made = ''] = id.exec((await project.run(argv)).stdout) ?? []
    const listed = await project.run(['regulations', 'list'])
    expect(listed.stdout).toMatch(
      /^regulation {23}status {4}users {2}made {4}type\nreg_\w{27} {2}FINISHED {6}1 {2}\ds ago {2}DELETE_INTERNAL\n$/,
    )
    const narrow = await project.run(['regulations', 'list', '--no-color'], {
      ...{ isTTY: true, columns: 44 },
    })
    expect(narrow.stdout).toBe(`regulation                       status\n${made}  FINISHED\n`)
    const shown = await project.run(['regulations', 'show', made, '--json'])
    expect(shown.records).toMatchObject([
      { v: 1, kind: 'regulation', id: made, subjectIds: ['u_1'], sources: null, streamStatus: [] },
    ])
    const unknown = await project.run(['regulations', 'show', 'reg_1'])
    expect(unknown).toMatchObject({ code: 2, stdout: '' })
    expect(unknown.stderr).toContain('See `evroute regulations list`')
  })

  test('says that there are none, and is refused without a command', async () => {
    const project = await newProject('http://127.0.0.1:1/')
    const store = await openStore(project.store)
    await store.close()
    const listed = await project.run(['regulations', 'list'])
    expect(listed).toMatchObject({ code: 0, stdout: '', stderr: 'There are no regulations yet\n' })
    expect((await run(['regulations'])).stderr).toContain('Its commands are list, show')
  })
})
