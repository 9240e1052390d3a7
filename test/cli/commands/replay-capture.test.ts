import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { signBody, signStandardWebhook } from '../../../src/webhook/index.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { dial, rawPost, readAll } from '../../receiver/requests.ts'
import { run, start, type OutputRecord } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const secret = 'not-a-real-secret'

interface Sent {
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

const track = (messageId: string, timestamp = '2026-10-01T00:00:00.000Z') =>
  JSON.stringify({ type: 'track', userId: 'u_1', event: 'E', timestamp, messageId })

async function post(port: unknown, body: string, headers: readonly string[] = []): Promise<void> {
  const socket = await dial(port as number)
  socket.write(rawPost('/hook', body, headers))
  await readAll(socket)
}

/** Records requests with `listen --save`, one after another. */
async function capture(requests: readonly Sent[]): Promise<string> {
  const file = join(await temporaryFolder(), 'capture.ndjson')
  const command = start(['listen', '-p', '0', '--json', '--save', file, '--secret', secret])
  const { port } = await command.stdout.record('ready')
  for (const { body, headers = {} } of requests) {
    const head = Object.entries({ 'X-Signature': signBody(body, secret), ...headers })
    const lines = head.map(([name, value]) => `${name}: ${value}`)
    await post(port, body, lines)
  }
  command.stop()
  await command.ended
  return file
}

async function replay(file: string, argv: readonly string[] = []) {
  const endpoint = await TestEndpoint.start()
  const ended = await run(['replay', file, '--to', endpoint.url, '--json', ...argv])
  return { ...ended, requests: endpoint.requests, summary: ended.records.at(-1) }
}

/** The fields of a capture that must stay the same when it is captured again. */
async function requestsOf(file: string): Promise<readonly unknown[]> {
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
  return lines.map((line) => {
    const { rawBase64, body, bytes, type, signature, headers } = JSON.parse(line) as OutputRecord
    const kept = { ...(headers as Record<string, string>), host: '', connection: '' }
    return { rawBase64, body, bytes, type, signature, headers: kept }
  })
}

describe('replay of a capture', () => {
  test('sends everything unchanged: a capture of it is the same', async () => {
    const odd =
      '\ufeff{ "type" : "identify", "big":12345678901234567890, "n":1.0,\n"userId":"\\u00e9\u2028" }'
    const first = await capture([
      { body: track('m_1'), headers: { 'X-Team': 'caf\u00e9', 'User-Agent': 'Example/1' } },
      { body: odd, headers: { 'X-Signature': 'f'.repeat(40), 'x-list': 'a, b' } },
      { body: track('m_1'), headers: { 'Content-Type': 'text/plain; charset=utf-8' } },
      { body: '{"type":"delete","userId":"u_1","timestamp":"2026-10-01T00:00:00.000Z"}' },
      { body: JSON.stringify({ type: 'identify', traits: { long: 'x'.repeat(700_000) } }) },
    ])
    const second = join(await temporaryFolder(), 'again.ndjson')
    const listening = start(['listen', '-p', '0', '--json', '--save', second, '--secret', secret])
    const { url } = await listening.stdout.record('ready')
    const { code, records } = await run(['replay', first, '--to', url as string, '--json'])
    listening.stop()
    await listening.ended
    expect(code).toBe(0)
    expect(await requestsOf(second)).toEqual(await requestsOf(first))
    const deliveries = records.filter(({ kind }) => kind === 'delivery')
    expect(deliveries.map(({ messageId, type }) => [messageId, type])).toEqual([
      ['m_1', 'track'],
      ['line-2', 'identify'],
      ['m_1', 'track'],
      ['line-4', 'delete'],
      ['line-5', 'identify'],
    ])
    expect(records.at(-1)).toMatchObject({ read: 5, accepted: 5, routed: 5, delivered: 5 })
  })

  test('rejects only the bad line, even before the first request', async () => {
    const file = await capture([{ body: track('m_1') }, { body: track('m_2') }])
    const captured = await readFile(file)
    const endpoint = await TestEndpoint.start()
    const { code, records } = await run(['replay', '-', '--to', endpoint.url, '--json'], {
      stdin: Readable.from([Buffer.from('{"v":1,"kind":"event","rawBa\n'), captured]),
    })
    const summary = records.at(-1)
    expect(code).toBe(3)
    expect(summary).toMatchObject({ read: 3, rejected: 1, delivered: 2 })
    expect(endpoint.requests).toHaveLength(2)
  })

  test('leaves out connection headers, and lets --header replace others', async () => {
    const file = await capture([
      {
        body: track('m_1'),
        headers: { Connection: 'X-Hop', 'X-Hop': '1', 'X-Team': 'a', TE: 'x' },
      },
    ])
    const { requests } = await replay(file, ['-H', 'X-TEAM: b', '-H', 'X-More: c'])
    const headers = requests[0]!.headers
    expect(headers).toMatchObject({ 'x-team': 'b', 'x-more': 'c' })
    expect(headers).not.toHaveProperty('x-hop')
    expect(headers).not.toHaveProperty('te')
    expect(headers['content-length']).toBe(String(track('m_1').length))
    expect(requests[0]!.rawHeaders.filter((name) => /^x-team$/i.test(name))).toHaveLength(1)
  })

  test('keeps the order, retries, and ends with 4 if a request is refused', async () => {
    const file = await capture(['m_1', 'm_2', 'm_3'].map((id) => ({ body: track(id) })))
    const endpoint = await TestEndpoint.start([200, 503, 410, 200])
    const argv = ['replay', file, '--to', endpoint.url, '--json', '--clock', 'virtual']
    const { code, records } = await run(argv)
    expect(code).toBe(4)
    const ids = endpoint.bodies.map((body) => (body as { messageId: string }).messageId)
    expect(ids).toEqual(['m_1', 'm_2', 'm_3', 'm_2'])
    expect(endpoint.openConnectionsMax).toBe(1)
    expect(endpoint.requests[3]!.headers).toEqual(endpoint.requests[1]!.headers)
    expect(records.at(-1)).toMatchObject({ read: 3, delivered: 2, failed: 1, pending: 0 })
  })

  test('reads the compressed output of `listen --json`, and selects rows', async () => {
    const listening = start(['listen', '-p', '0', '--json', '--count', '3'])
    const { port } = await listening.stdout.record('ready')
    await post(port, track('m_1'))
    await post(port, '{"type":"page","timestamp":"2026-10-02","messageId":"m_2"}')
    await post(port, track('m_3', '2026-10-03T00:00:00.000Z'))
    const { stdout } = await listening.ended
    const file = join(await temporaryFolder(), 'capture.ndjson.gz')
    await writeFile(file, gzipSync(stdout))
    const all = await replay(file)
    expect(all).toMatchObject({ code: 0, summary: { read: 3, delivered: 3, skipped: 0 } })
    const pages = await replay(file, ['--type', 'page'])
    expect(pages).toMatchObject({ code: 0, summary: { read: 1, delivered: 1, skipped: 2 } })
    const late = await replay(file, ['--since', '2026-10-03'])
    expect(late).toMatchObject({ code: 0, summary: { read: 1, delivered: 1, skipped: 2 } })
  })

  test('rejects a request whose time it must select by and cannot read', async () => {
    const file = await capture([{ body: track('m_1', 'yesterday') }, { body: track('m_2') }])
    expect(await replay(file)).toMatchObject({ code: 0, summary: { delivered: 2 } })
    const { code, records, summary } = await replay(file, ['--until', '2026-10-05'])
    expect({ code, summary }).toMatchObject({ code: 3, summary: { delivered: 1, rejected: 1 } })
    expect(records).toContainEqual(expect.objectContaining({ line: 1, code: 'wrong_type' }))
  })

  test('rejects requests that were not webhooks, and rows that are not requests, and sends the rest', async () => {
    const file = await capture([{ body: track('m_1') }, { body: '{"type":"tra' }])
    await writeFile(file, `${track('m_9')}\n`, { flag: 'a' })
    const { code, records, requests, summary } = await replay(file)
    expect({ code, count: requests.length }).toEqual({ code: 3, count: 1 })
    expect(records.filter(({ kind }) => kind === 'rejected')).toMatchObject([
      { line: 2, code: 'invalid_json' },
      { line: 3, code: 'wrong_type' },
    ])
    expect(summary).toMatchObject({ read: 3, accepted: 1, rejected: 2 })
  })

  test('does not take a captured request for a call', async () => {
    const file = await capture([{ body: '{"type":"identify","userId":"u_1"}' }])
    const calls = join(await temporaryFolder(), 'calls.ndjson')
    await writeFile(calls, track('m_1'))
    const endpoint = await TestEndpoint.start()
    const mixed = await run(['replay', calls, file, '--to', endpoint.url, '--json'])
    expect(mixed.code).toBe(3)
    expect(mixed.records.at(-1)).toMatchObject({ accepted: 1, rejected: 1 })
    const sent = await run(['send', '--file', file, '--to', endpoint.url])
    expect(sent.code).toBe(3)
    expect(sent.stderr).toContain('To send it again, use `evroute replay`')
    expect(endpoint.requests).toHaveLength(1)
  })

  test('shows in a dry run what would be sent', async () => {
    const file = await capture([{ body: track('m_1') }, { body: '{' }])
    const { code, records, requests } = await replay(file, ['-n'])
    expect({ code, requests }).toEqual({ code: 3, requests: [] })
    expect(records.find(({ kind }) => kind === 'plan')).toMatchObject({
      messageId: 'm_1',
      body: track('m_1'),
      signature: signBody(track('m_1'), secret),
    })
    expect(records.at(-1)).toMatchObject({ read: 2, accepted: 1, routed: 1, rejected: 1 })
  })
})

describe('replay --resign', () => {
  const body = track('m_1')

  test('signs again, and changes nothing else', async () => {
    const file = await capture([{ body, headers: { 'X-Team': 'a' } }])
    const { code, requests } = await replay(file, ['--resign', '--secret', 'a-new-secret'])
    expect(code).toBe(0)
    expect(requests[0]!.body.toString()).toBe(body)
    expect(requests[0]!.headers).toMatchObject({
      'x-signature': signBody(body, 'a-new-secret'),
      'x-team': 'a',
    })
    expect(requests[0]!.headers).not.toHaveProperty('webhook-signature')
  })

  test('replaces headers of Standard Webhooks by new ones', async () => {
    const standard = {
      'webhook-id': 'm_1',
      'webhook-timestamp': '1',
      'webhook-signature': 'v1,old',
    }
    const file = await capture([{ body, headers: standard }])
    const kept = await replay(file)
    expect(kept.requests[0]!.headers).toMatchObject(standard)
    const { requests } = await replay(file, ['--resign', '--secret', 'a-new-secret'])
    const { headers } = requests[0]!
    const timestamp = Number(headers['webhook-timestamp'])
    expect(timestamp).toBeGreaterThan(1)
    expect(headers).toMatchObject({
      'webhook-id': 'm_1',
      'webhook-signature': signStandardWebhook({ id: 'm_1', timestamp, body }, 'a-new-secret'),
    })
  })

  test.each([[[]], [['-n']]])(
    'moves times with --shift-time, and signs what is sent, %j',
    async (more) => {
      const file = await capture([{ body }, { body: track('m_2', '2026-10-01T00:00:30.000Z') }])
      const argv = ['--resign', '--secret', 'a-new-secret', '--shift-time', '-1d', ...more]
      const { code, requests, records } = await replay(file, argv)
      const expected = [
        track('m_1', '2026-09-30T00:00:00.000Z'),
        track('m_2', '2026-09-30T00:00:30.000Z'),
      ]
      const sent =
        more.length === 0
          ? requests.map((request) => [request.body.toString(), request.headers['x-signature']])
          : records
              .filter(({ kind }) => kind === 'plan')
              .map((plan) => [plan['body'], plan['signature']])
      expect(code).toBe(0)
      expect(sent).toEqual(expected.map((text) => [text, signBody(text, 'a-new-secret')]))
    },
  )
})

describe('replay refuses with 2', () => {
  test.each([
    [['--shift-time', 'now'], {}, 'the signatures would no longer match'],
    [['--shift-time', 'soon', '--resign'], {}, 'It must be "now", or a duration'],
    [['--resign'], {}, 'Cannot sign again without a secret'],
    [['--secret', 'x'], {}, 'captured webhooks keep the signatures'],
    [['--store', 'sqlite:x.db'], {}, 'a store keeps no headers'],
    [['--flush-at', '5'], {}, 'Cannot use --flush-at with a capture'],
    [['--flush-after', '5s'], {}, 'Cannot use --flush-after with a capture'],
    [
      ['--endpoint', 'http://127.0.0.1:1', '--write-key', 'k'],
      {},
      'captured webhooks to a service',
    ],
  ])('%j with a capture', async (argv, env, message) => {
    const file = await capture([{ body: track('m_1') }])
    const { code, stderr, stdout } = await run(['replay', file, ...argv], { env })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
  })

  test('--resign with calls', async () => {
    const { code, stderr } = await run(['replay', '-', '--resign'], { stdin: track('m_1') })
    expect(code).toBe(2)
    expect(stderr).toContain('the files hold calls')
  })
})

test('replay does not refuse a capture because EVROUTE_SECRET is set, and signs with it only with --resign', async () => {
  const file = await capture([{ body: track('m_1') }])
  const endpoint = await TestEndpoint.start()
  const env = { EVROUTE_SECRET: 'another-secret' }
  expect((await run(['replay', file, '--to', endpoint.url], { env })).code).toBe(0)
  expect(endpoint.requests[0]!.headers['x-signature']).toBe(signBody(track('m_1'), secret))
  const resigned = await run(['replay', file, '--to', endpoint.url, '--resign'], { env })
  expect(resigned.code).toBe(0)
  expect(endpoint.requests[1]!.headers['x-signature']).toBe(
    signBody(track('m_1'), 'another-secret'),
  )
})
