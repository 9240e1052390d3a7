import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { eventTypes, isJsonObject, type JsonObject } from '../../../src/model/index.ts'
import { verifySignature } from '../../../src/webhook/index.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { run } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Sends, and returns the only webhook that arrived. */
async function sent(...argv: readonly string[]): Promise<JsonObject> {
  const endpoint = await TestEndpoint.start()
  const { code, stderr } = await run(['send', ...argv, '--to', endpoint.url])
  expect({ code, stderr }).toMatchObject({ code: 0 })
  expect(endpoint.bodies).toHaveLength(1)
  const [body] = endpoint.bodies
  if (!isJsonObject(body)) throw new Error('no object arrived')
  return body
}

async function fileOf(text: string): Promise<string> {
  const path = join(await temporaryFolder(), 'rows.ndjson')
  await writeFile(path, text)
  return path
}

test('send goes to the receiver of run, whose URL is in EVROUTE_URL', async () => {
  const endpoint = await TestEndpoint.start()
  const env = { EVROUTE_URL: endpoint.url }
  expect(await run(['send', 'track'], { env })).toMatchObject({ code: 0 })
  const other = await TestEndpoint.start()
  const short = other.url.replace('http://', '')
  expect(await run(['send', 'track', '--to', short], { env })).toMatchObject({ code: 0 })
  expect([endpoint.bodies.length, other.bodies.length]).toEqual([1, 1])
})

test.each([[[]], [['-v']], [['--json']], [['--dry-run']], [['--dry-run', '--json']]])(
  'send hides the query of an endpoint, with %j',
  async (flags) => {
    const endpoint = await TestEndpoint.start(404)
    const to = `${endpoint.url}?key=not-a-real-key`
    const { stdout, stderr } = await run(['send', 'track', '--to', to, ...flags])
    expect(stdout + stderr).toContain(`${endpoint.url}?…`)
    expect(stdout + stderr).not.toContain('not-a-real-key')
  },
)

describe('a call of the command line', () => {
  test.each(eventTypes)('is a sample for %s', async (type) => {
    const body = await sent(type, ...(type === 'delete' ? ['--user-id', 'u_sample'] : []))
    expect(body['type']).toBe(type)
    expect(body[type === 'alias' ? 'User ID' : 'userId']).toBe('u_sample')
  })

  test('takes its fields from flags', async () => {
    expect(
      await sent('track', '--event', 'Order Refunded', '--user-id', 'u_1', '--anonymous-id', 'a_1'),
    ).toMatchObject({ event: 'Order Refunded', userId: 'u_1', anonymousId: 'a_1' })
    expect(await sent('group', '--group-id', 'g_1')).toMatchObject({ groupId: 'g_1' })
    expect(await sent('alias', '--previous-id', 'a_1', '--user-id', 'u_1')).toMatchObject({
      'Previous ID': 'a_1',
      'User ID': 'u_1',
    })
    expect(await sent('page', '--name', 'Home')).toMatchObject({ name: 'Home' })
    expect(
      await sent('delete', '--user-id', 'u_1', '--timestamp', '2026-11-20T10:15:00+01:00'),
    ).toEqual({ type: 'delete', userId: 'u_1', timestamp: '2026-11-20T09:15:00.000Z' })
  })

  test('keeps only the ids of the sample if the call has fields of its own', async () => {
    const track = await sent('track', '--event', 'Signed Up', '--user-id', 'u_9')
    expect(track).toMatchObject({ event: 'Signed Up', userId: 'u_9' })
    expect(track).not.toHaveProperty('properties.order_id')
    expect(await sent('group', '--group-id', 'g_1')).not.toHaveProperty('traits.name')
    const screen = await sent('screen', 'size:=3')
    expect(screen).toMatchObject({ userId: 'u_sample', properties: { size: 3 } })
    expect(screen).not.toHaveProperty('context.device')
    expect(screen).not.toHaveProperty('name', 'Basket')
    const sample = await sent('track', '--user-id', 'u_9')
    expect(sample).toHaveProperty('properties.order_id')
  })

  test('is anonymous when only an anonymous id is given', async () => {
    const body = await sent('track', '--anonymous-id', 'a_1')
    expect(body['anonymousId']).toBe('a_1')
    expect(body).not.toHaveProperty('userId')
  })

  test('takes properties and traits as key=text and key:=json', async () => {
    const pairs = [
      'plan=pro',
      'seats:=3',
      'tags:=["a"]',
      'url=https://example.com/?a=b',
      '__proto__=x',
    ]
    const values = { plan: 'pro', seats: 3, tags: ['a'], url: 'https://example.com/?a=b' }
    for (const [type, bag] of [
      ['track', 'properties'],
      ['identify', 'traits'],
      ['group', 'traits'],
      ['page', 'properties'],
    ] as const) {
      const body = await sent(type, ...pairs)
      expect(body[bag]).toMatchObject(values)
      expect(Object.keys(body[bag] as JsonObject)).toEqual([...Object.keys(values), '__proto__'])
    }
  })

  test('is sent as often as --count says, each time with its own id', async () => {
    const endpoint = await TestEndpoint.start()
    const { code, records } = await run([
      'send',
      'track',
      '--count',
      '1001',
      '--flush-at',
      '500',
      '--json',
      '--to',
      endpoint.url,
    ])
    expect(code).toBe(0)
    expect(records.at(-1)).toMatchObject({ read: 1001, accepted: 1001, delivered: 1001 })
    const ids = endpoint.bodies.map((body) => (body as JsonObject)['messageId'])
    expect(new Set(ids).size).toBe(1001)
  })

  test('carries the given timestamp', async () => {
    const body = await sent('track', '--timestamp', '2026-10-01')
    expect(body['timestamp']).toBe('2026-10-01T00:00:00.000Z')
  })

  test('is filtered by its integrations without a failure', async () => {
    const endpoint = await TestEndpoint.start()
    const { code, stderr } = await run([
      'send',
      'track',
      '--integration',
      'Webhooks=false',
      '--to',
      endpoint.url,
    ])
    expect(code).toBe(0)
    expect(stderr).toContain('was filtered out: its integrations exclude ')
    expect(endpoint.connections).toBe(0)
  })

  test('is enabled by name although all are disabled', async () => {
    const flags = ['--integration', 'All=false', '--integration', 'Webhooks=true']
    expect(await sent('track', ...flags)).toMatchObject({ type: 'track' })
  })
})

const webhookFlags = ['--to=http://127.0.0.1:9', '--secret=s', '--header=A: b', '--retry-for=1s']

function refusalWithService(flag: string): [readonly string[], string, string] {
  const [name = ''] = flag.split('=')
  const argv = ['track', '--endpoint', 'http://127.0.0.1:9', '--write-key', 'k', flag]
  return [argv, `Cannot use ${name} together with a service`, 'omit --endpoint']
}

describe('the command line is refused with 2', () => {
  test.each<[argv: readonly string[], message: string, hint: string]>([
    [[], 'neither a type nor a file is given', 'Try `evroute send track`'],
    [['trakc'], '"trakc": it is not a type', 'identify, track, page, screen, group, alias, delete'],
    [['plan=pro'], 'not a type', 'key=value comes after the type'],
    [['http://127.0.0.1:1/'], 'not a type', 'Try `evroute send track --to http://127.0.0.1:1/`'],
    [['localhost:3000'], 'not a type', 'Try `evroute send track --to http://localhost:3000`'],
    [['track', 'plan'], 'Cannot read the field "plan"', 'key=text or key:=json'],
    [['track', '=pro'], 'Cannot read the field "=pro"', 'key=text'],
    [['track', 'seats:=three'], 'Cannot read the value of seats', 'Write JSON after :='],
    [['alias', 'plan=pro'], 'Cannot use key=value with alias', 'contains only ids'],
    [['identify', '--event', 'E'], 'Cannot use --event with identify', 'no such field'],
    [['delete', '--anonymous-id', 'a'], 'Cannot use --anonymous-id with delete', ''],
    [['delete'], 'Cannot send a delete without --user-id', ''],
    [['track', '--file', 'f', '--event', 'E'], 'Cannot use --event together with --file', 'rows'],
    [['track', 'plan=pro', '--file', 'f'], 'Cannot use plan=pro together with --file', 'rows'],
    [['--file', 'f', '--count', '2'], 'Cannot use --count together with --file', 'rows'],
    [['track', '--timestamp', 'noon'], '--timestamp cannot be "noon"', '2026-11-20'],
    [['track', '--count', '0'], '--count cannot be "0"', '1 to 1000000'],
    [['track', '--flush-at', '2501'], '--flush-at cannot be "2501"', '1 to 2500'],
    [['track', '--flush-after', '5'], '--flush-after cannot be "5"', '500ms'],
    [['track', '--flush-after', '25h'], '--flush-after cannot be "25h"', 'at most 24h'],
    [['track', '--retry-for', '31d'], '--retry-for cannot be "31d"', 'at most 720h'],
    [['track', '--timeout', '6s'], '--timeout cannot be "6s"', 'at least 1ms and at most 5s'],
    [['track', '--timeout', '0s'], '--timeout cannot be "0s"', 'at least 1ms and at most 5s'],
    [['track', '--clock', 'fast'], 'It must be one of real, virtual', ''],
    [['track', '--header', 'X-Team'], '"Name: value"', ''],
    [['track', '--header', 'User-Agent: mine'], 'a static header User-Agent', 'X-Team'],
    [['track', '--header', 'X-Team: a\nb'], 'characters that a header cannot carry', ''],
    [['track', '--integration', 'All'], 'Name=true or Name=false', ''],
    [
      ['track', '--to', 'example.com'],
      '"example.com": it is not a full http or https URL',
      'with its scheme',
    ],
    [['track', '--to', 'http://a:b@example.com'], 'contains a user name or password', ''],
    [
      ['track', ...Array.from({ length: 6 }, (_, n) => ['--to', `http://127.0.0.1:9/${n}`]).flat()],
      'Cannot use 6 URLs',
      '1 to 5',
    ],
    [['track', '--secret', ''], 'Cannot use an empty --secret', 'Check the variable'],
    [
      ['track', '--secret', 'env:NOWHERE'],
      'from the environment variable NOWHERE: it is not set',
      'Set the variable',
    ],
    [['track', '--endpoint', 'http://127.0.0.1:9'], 'without a write key', 'EVROUTE_WRITE_KEY'],
    [
      ['track', '--write-key', 'k'],
      'Cannot use --write-key without --endpoint',
      'EVROUTE_ENDPOINT',
    ],
    [
      ['track', '--endpoint', 'ftp://x', '--write-key', 'k'],
      'it is not a full http or https URL',
      'https://',
    ],
    ...webhookFlags.map(refusalWithService),
  ])('for %j', async (argv, message, hint) => {
    const { code, stdout, stderr } = await run(['send', ...argv])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toContain(hint)
  })
})

describe('--secret', () => {
  const verdictOf = async (argv: readonly string[], env: Record<string, string> = {}) => {
    const endpoint = await TestEndpoint.start()
    const { code } = await run(['send', 'track', ...argv, '--to', endpoint.url], { env })
    expect(code).toBe(0)
    const [request] = endpoint.requests
    const signature = request!.headers['x-signature'] as string | undefined
    return signature === undefined ? 'unsigned' : verifySignature(request!.body, signature, 'k')
  }

  test('signs with a value, the content of a file, or a variable', async () => {
    const file = await fileOf('k\n')
    expect(await verdictOf(['--secret', 'k'])).toBe(true)
    expect(await verdictOf(['--secret', `@${file}`])).toBe(true)
    expect(await verdictOf(['--secret', 'env:HOOK'], { HOOK: 'k' })).toBe(true)
    expect(await verdictOf([], { EVROUTE_SECRET: 'k' })).toBe(true)
    expect(await verdictOf(['--secret', 'k'], { EVROUTE_SECRET: 'other' })).toBe(true)
  })

  test('is optional', async () => {
    expect(await verdictOf([])).toBe('unsigned')
    expect(await verdictOf([], { EVROUTE_SECRET: '' })).toBe('unsigned')
  })

  test('ends with 7 if the file of the secret cannot be read, with 2 if it is empty', async () => {
    const missing = await run(['send', 'track', '--secret', '@/nowhere/secret'])
    expect(missing.code).toBe(7)
    expect(missing.stderr).toContain('Cannot read --secret from the file /nowhere/secret')
    expect(missing.stderr).toContain(
      'If the value itself begins with @, put it in a variable and pass env:NAME',
    )
    expect((await run(['send', 'track', '--secret', `@${await fileOf('\n')}`])).code).toBe(2)
  })
})

describe('--to and --header', () => {
  test('send to up to five URLs at once, with the static headers', async () => {
    const endpoints = await Promise.all(
      [200, 200, 200, 200, 200].map((plan) => TestEndpoint.start(plan)),
    )
    const to = endpoints.flatMap(({ url }) => ['--to', url])
    const headers = [
      '-H',
      'X-Team: sales',
      '-H',
      'x-team: growth',
      '-H',
      'Authorization: Bearer none',
    ]
    expect(await run(['send', 'track', ...to, ...headers])).toMatchObject({ code: 0 })
    for (const { requests } of endpoints) {
      expect(requests.map((request) => request.headers)).toEqual([
        expect.objectContaining({ 'x-team': 'growth', authorization: 'Bearer none' }),
      ])
    }
  })

  test('reads the value of a header from a variable or a file', async () => {
    const endpoint = await TestEndpoint.start()
    const file = await fileOf('Bearer from-a-file\n')
    const headers = ['-H', 'X-Team: env:TEAM', '-H', `Authorization: @${file}`, '-H', 'X-Empty:']
    const argv = ['send', 'track', '--to', endpoint.url, ...headers]
    expect(await run(argv, { env: { TEAM: 'growth' } })).toMatchObject({ code: 0 })
    expect(endpoint.requests[0]?.headers).toMatchObject({
      'x-team': 'growth',
      authorization: 'Bearer from-a-file',
      'x-empty': '',
    })
    const unset = await run(argv)
    expect(unset).toMatchObject({ code: 2 })
    expect(unset.stderr).toContain('Cannot read --header X-Team from the environment variable TEAM')
  })
})

describe('--file', () => {
  const rows = [
    '{"type":"track","userId":"u_1","event":"A"}',
    '{"userId":"u_1","event":"B"}',
    '{"type":"identify","userId":"u_1"}',
    '{"type":"delete","userId":42}',
  ].join('\n')

  test('gives rows without a type the type of the argument, and rejects rows of a different type', async () => {
    const endpoint = await TestEndpoint.start()
    const argv = ['send', 'track', '--file', await fileOf(rows), '--to', endpoint.url, '--json']
    const { code, records } = await run(argv)
    expect(code).toBe(3)
    expect(endpoint.bodies).toMatchObject([{ event: 'A' }, { event: 'B' }])
    expect(records.filter(({ kind }) => kind === 'rejected')).toEqual([
      {
        v: 1,
        kind: 'rejected',
        line: 3,
        code: 'wrong_type',
        message: "The row's type is identify, but the command sends only track",
      },
      {
        v: 1,
        kind: 'rejected',
        line: 4,
        code: 'wrong_type',
        message: "The row's type is delete, but the command sends only track",
      },
    ])
  })

  test('reads stdin for -, and sends a deletion after the calls before it', async () => {
    const endpoint = await TestEndpoint.start()
    const { code, stderr } = await run(['send', '-f', '-', '--to', endpoint.url], { stdin: rows })
    expect(code).toBe(3)
    expect(stderr).toContain("line 2: A call's type must be")
    expect(stderr).toContain('4 read = 3 accepted + 1 rejected · 3 accepted = 3 routed')
    expect(endpoint.bodies.at(-1)).toMatchObject({ type: 'delete', userId: '42' })
  })

  test('says that it waits for typed input', async () => {
    const { stderr } = await run(['send', '-f', '-', '-n'], { stdinIsTerminal: true })
    expect(stderr).toMatch(/^Reading from the terminal. Press Ctrl-D to end the input/)
  })

  test.each([
    ['{"type":"delete"}', 'no_user_id'],
    ['{"type":"delete","userId":""}', 'no_user_id'],
    ['{"type":"delete","userId":{}}', 'wrong_type'],
    [
      `{"type":"track","userId":"u","event":"E","properties":{"a":${'['.repeat(600)}${']'.repeat(600)}}}`,
      'wrong_type',
    ],
    ['broken', 'invalid_json'],
  ])('rejects %s, whether it is sent or not', async (row, code) => {
    for (const flags of [['--json'], ['--json', '--dry-run']]) {
      const { records, ...ended } = await run(['send', '-f', '-', ...flags], { stdin: row })
      expect(ended.code).toBe(3)
      expect(records).toMatchObject([
        { kind: 'rejected', line: 1, code },
        { kind: 'summary', read: 1, accepted: 0, rejected: 1 },
      ])
    }
  })

  test('rejects a row whose type is nested deeply, like one of a different type', async () => {
    const stdin = `{"type":${'['.repeat(15_000)}${']'.repeat(15_000)}}`
    const { code, records } = await run(['send', 'track', '-f', '-', '--json'], { stdin })
    expect({ code, row: records[0] }).toMatchObject({ code: 3, row: { code: 'wrong_type' } })
  })

  test('puts --timestamp and --integration into every row', async () => {
    const endpoint = await TestEndpoint.start()
    const stdin = [
      '{"type":"track","userId":"u_1","event":"A","timestamp":"2020-01-01"}',
      '{"type":"track","userId":"u_1","event":"B","integrations":{"All":false}}',
      '{"type":"track","userId":"u_1","event":"C","context":{"integrations":{"Webhooks":false}}}',
    ].join('\n')
    const argv = ['send', '-f', '-', '--timestamp', '2026-10-01', '--integration', 'Other=true']
    const { code, stderr } = await run([...argv, '--to', endpoint.url], { stdin })
    expect(code).toBe(0)
    expect(endpoint.bodies).toMatchObject([{ event: 'A', timestamp: '2026-10-01T00:00:00.000Z' }])
    expect(stderr).toContain('1 routed + 2 filtered')
  })

  test('ends with 7 if the file does not exist', async () => {
    const { code, stderr } = await run(['send', '--file', '/nowhere/calls.ndjson'])
    expect(code).toBe(7)
    expect(stderr).toBe(
      'evroute: Cannot read /nowhere/calls.ndjson: it does not exist. Check the path, or pass - to read from standard input.\n',
    )
  })
})
