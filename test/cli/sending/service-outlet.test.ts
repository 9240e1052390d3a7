import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { TestEndpoint, type Plan } from '../../support/endpoint.ts'
import { run, start, type RunSettings } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const success = { status: 200, body: '{"success":true}' }
const stdin = ['A', 'B', 'C']
  .map((event) => JSON.stringify({ type: 'track', userId: 'u_1', event, messageId: event }))
  .join('\n')

async function sendTo(plan: Plan, argv: readonly string[] = [], settings: RunSettings = {}) {
  const service = await TestEndpoint.start(plan)
  const flags = [
    '--endpoint',
    service.url,
    '--write-key',
    'wk_example',
    '--clock',
    'virtual',
    '--json',
  ]
  const ended = await run(['send', '-f', '-', ...flags, ...argv], { stdin, ...settings })
  return { ...ended, service, summary: ended.records.at(-1) }
}

function writeKeyOf(authorization = ''): string {
  return Buffer.from(authorization.replace('Basic ', ''), 'base64').toString().replace(/:$/, '')
}

describe('--endpoint', () => {
  test('posts a batch with the write key, and counts the acknowledged calls', async () => {
    const { code, service, summary } = await sendTo(success)
    expect(code).toBe(0)
    expect(service.requests).toHaveLength(1)
    const [request] = service.requests
    expect(request).toMatchObject({ method: 'POST', path: '/hook' })
    expect(request!.headers.authorization).toBe(
      `Basic ${Buffer.from('wk_example:').toString('base64')}`,
    )
    expect(service.bodies).toMatchObject([
      { batch: [{ event: 'A' }, { event: 'B' }, { event: 'C' }] },
    ])
    expect(summary).toMatchObject({
      kind: 'summary',
      read: 3,
      accepted: 3,
      delivered: 3,
      acknowledged: 3,
    })
  })

  test('flushes as often as --flush-at says', async () => {
    const { service } = await sendTo(success, ['--flush-at', '1'])
    expect(service.requests).toHaveLength(3)
  })

  test.each([
    ['joins up to 250 calls that wait for an answer', [], [20, 20, 20, 20, 80, 240]],
    ['sends exactly --flush-at calls in each request', ['--flush-at', '100'], [100, 100, 100, 100]],
  ])('%s', async (_, argv, sizes) => {
    let allRead = (): void => undefined
    const after = new Promise<void>((resolve) => (allRead = resolve))
    async function* calls(): AsyncGenerator<Uint8Array> {
      const call = `${JSON.stringify({ type: 'track', userId: 'u_1', event: 'A' })}\n`
      yield await Promise.resolve(Buffer.from(call.repeat(400)))
      allRead()
    }
    const { service } = await sendTo({ ...success, after }, argv, { stdin: calls() })
    const batches = service.bodies as readonly { readonly batch: readonly unknown[] }[]
    const lengths = batches.map(({ batch }) => batch.length)
    expect(lengths.toSorted((one, other) => one - other)).toEqual(sizes)
  })

  test('ends with 4 when the service does not know the write key', async () => {
    const body = '{"success":false,"code":"unknown_write_key","message":"No source has this key"}'
    const { code, records, service, summary } = await sendTo({ status: 401, body })
    expect(code).toBe(4)
    expect(records.filter(({ kind }) => kind === 'delivery')).toEqual(
      ['A', 'B', 'C'].map((messageId) => ({
        v: 1,
        kind: 'delivery',
        messageId,
        type: 'track',
        destination: service.url,
        state: 'failed',
        attempts: 1,
        reason: 'unknown_write_key',
      })),
    )
    expect(summary).toMatchObject({ accepted: 3, failed: 3, acknowledged: 0 })
  })

  test('ends with 3 when the service rejects a call, and reports its line', async () => {
    const rejected = [
      { index: 1, messageId: 'B', code: 'no_event', message: 'track needs an event' },
    ]
    const body = JSON.stringify({ success: true, rejected })
    const { code, records, summary } = await sendTo({ status: 200, body })
    expect(code).toBe(3)
    expect(records[0]).toEqual({
      v: 1,
      kind: 'rejected',
      line: 2,
      code: 'no_event',
      message: 'track needs an event',
    })
    expect(summary).toMatchObject({
      read: 3,
      accepted: 2,
      rejected: 1,
      delivered: 2,
      acknowledged: 2,
    })
  })

  test('reports the lines of rejected calls that have the same messageId', async () => {
    const [row = ''] = stdin.split('\n')
    const rejected = [0, 2].map((index) => ({ index, code: 'no_event', message: 'no' }))
    const body = JSON.stringify({ success: true, rejected })
    const settings = { stdin: `${row}\n${row}\n${row}` }
    const { records } = await sendTo({ status: 200, body }, [], settings)
    const lines = records.filter(({ kind }) => kind === 'rejected').map(({ line }) => line)
    expect(lines).toEqual([1, 3])
  })

  test('warns once if the URL is that of a web page, which answers 200 to everything', async () => {
    const page = { status: 200, body: '\n<!DOCTYPE html>\n<html lang="en"></html>' }
    const { code, stderr } = await sendTo(page, ['--flush-at', '1', '-v'])
    expect(code).toBe(0)
    expect(stderr.match(/the endpoint answers with a web page; check its URL/g)).toHaveLength(1)
  })

  test('accepts the host of a service, as libraries name it', async () => {
    const service = await TestEndpoint.start(success)
    for (const endpoint of [new URL(service.url).origin, new URL('/', service.url).href]) {
      await run(['send', 'track', '--endpoint', endpoint, '--write-key', 'wk_example'])
    }
    expect(service.requests.map(({ path }) => path)).toEqual(['/v1/batch', '/v1/batch'])
  })

  test('says why a batch is retried, and why it was given up', async () => {
    const service = await TestEndpoint.start({ status: 503, body: 'wk_example is not here' })
    const argv = ['send', 'track', '--clock', 'virtual', '--endpoint', service.url]
    const { code, stderr } = await run([...argv, '--write-key', 'wk_example'])
    expect(code).toBe(4)
    expect(
      stderr.match(/^attempt \d for a batch of 1 call failed: .*; next try in .*s$/gm),
    ).toHaveLength(9)
    expect(stderr).toMatch(
      /^✖ track "Order Completed" → \S+ failed after 10 attempts: retries_exhausted \(Gave up after 10 attempts; .*\)$/m,
    )
    expect(stderr).not.toContain('wk_example')
  })

  test('retries calls that may succeed later', async () => {
    const { code, service, summary } = await sendTo([
      503,
      { status: 429, headers: { 'retry-after': '3600' } },
      success,
    ])
    expect({ code, requests: service.requests.length }).toEqual({ code: 0, requests: 3 })
    expect(summary).toMatchObject({ acknowledged: 3 })
  })

  test('waits for an answer as long as --timeout says', async () => {
    const { code, records } = await sendTo('hang', ['--timeout', '1ms'])
    expect(code).toBe(4)
    expect(records[0]).toMatchObject({ state: 'failed', attempts: 10, reason: 'retries_exhausted' })
  })

  test('may come from the environment; --to overrides it', async () => {
    const service = await TestEndpoint.start(success)
    const webhook = await TestEndpoint.start()
    const env = { EVROUTE_ENDPOINT: service.url, EVROUTE_WRITE_KEY: 'wk_example' }
    expect((await run(['send', 'track'], { env })).code).toBe(0)
    expect((await run(['send', 'track', '--to', webhook.url], { env })).code).toBe(0)
    expect([service.requests.length, webhook.requests.length]).toEqual([1, 1])
    const explained = await run(['explain', '-'], { env, stdin: stdin.split('\n')[0]! })
    expect(explained.stdout).toContain('would be sent: all destinations are enabled by default')
  })

  test('reads the write key from a file or a variable, like every secret', async () => {
    const path = join(await temporaryFolder(), 'write-key')
    await writeFile(path, 'wk_file\n')
    const service = await TestEndpoint.start(success)
    const send = (...argv: readonly string[]) =>
      run([...argv, '--endpoint', service.url], {
        stdin,
        env: { NAMED: 'wk_named', EVROUTE_WRITE_KEY: `@${path}`, EVROUTE_SECRET: 'k' },
      })
    await send('send', 'track', '--write-key', `@${path}`)
    await send('send', 'track', '--write-key', 'env:NAMED')
    await send('send', 'track')
    await send('replay', '-', '--write-key', `@${path}`)
    expect(service.requests.map(({ headers }) => writeKeyOf(headers.authorization))).toEqual([
      'wk_file',
      'wk_named',
      'wk_file',
      'wk_file',
    ])
    const unset = await send('send', 'track', '--write-key', 'env:NONE')
    expect(unset.code).toBe(2)
    expect(unset.stderr).toContain('Cannot read --write-key from the environment variable NONE')
    expect(await send('send', 'track', '--write-key', `@${path}.none`)).toMatchObject({ code: 7 })
    expect(await send('send', 'track', '--write-key', '')).toMatchObject({ code: 2 })
    expect(service.requests).toHaveLength(4)
  })

  test('when stopped, leaves unacknowledged calls pending', async () => {
    const service = await TestEndpoint.start('hang')
    const argv = ['send', 'track', '--endpoint', service.url, '--write-key', 'wk_example']
    const command = start(argv)
    await service.received(1)
    command.stop()
    const { code, stderr } = await command.ended
    expect(code).toBe(130)
    expect(stderr).toContain('1 delivery = 0 delivered + 1 pending')
    expect(stderr).toContain('Interrupted: 1 of 1 delivery pending')
  })

  test('accepts no deletions', async () => {
    const { code, records } = await sendTo(success, [], {
      stdin: '{"type":"delete","userId":"u_1"}',
    })
    expect(code).toBe(3)
    expect(records[0]).toMatchObject({
      code: 'unknown_type',
      message: 'A tracking API does not accept deletions',
    })
  })
})
