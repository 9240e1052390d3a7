import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { request as httpRequest } from 'undici'
import { describe, expect, test } from 'vitest'
import { columnsOf } from '../../../src/model/index.ts'
import { signBody } from '../../../src/webhook/index.ts'
import { fixture } from '../../support/fixtures.ts'
import { start, run, type RunningCommand, type RunSettings } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Starts the receiver on a free port and waits until it is ready. */
async function listening(
  argv: readonly string[] = [],
  settings?: RunSettings,
): Promise<{ command: RunningCommand; url: string }> {
  const command = start(['listen', '--port', '0', ...argv], settings)
  if (argv.includes('--json')) {
    return { command, url: (await command.stdout.record('ready'))['url'] as string }
  }
  await command.stderr.matching(/Listening.*\n/)
  const [, url = ''] =
    /Listening {2}(\S+)/.exec(stripVTControlCharacters(command.stderr.text)) ?? []
  return { command, url }
}

async function post(url: string, body: string | Buffer, signature?: string) {
  const headers = signature === undefined ? {} : { 'x-signature': signature }
  const response = await httpRequest(url, { method: 'POST', body, headers })
  return { status: response.statusCode, body: await response.body.json() }
}

const track =
  '{"type":"track","userId":"u_1","event":"Order Completed","properties":{"revenue":"39.95"}}'

describe('listen --json', () => {
  test('prints ready, event and summary records with the documented fields', async () => {
    const { command, url } = await listening(['--json', '--secret', 'k', '--count', '1'])
    await post(`${url}/hook?a=b`, track, signBody(track, 'k'))
    const { code, records, stderr } = await command.ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const port = Number(new URL(url).port)
    expect(records).toEqual([
      {
        v: 1,
        kind: 'ready',
        url,
        urls: [url],
        port,
        inspector: `${url}/_evroute/`,
        ca: null,
        pid: process.pid,
      },
      {
        v: 1,
        kind: 'event',
        seq: 1,
        at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
        type: 'track',
        userId: 'u_1',
        method: 'POST',
        path: '/hook?a=b',
        signature: 'valid',
        reason: null,
        diagnosis: null,
        code: null,
        endpoint: null,
        status: 200,
        injected: null,
        withheld: null,
        forward: null,
        ms: expect.any(Number) as number,
        bytes: track.length,
        headers: expect.objectContaining({ 'x-signature': signBody(track, 'k') }) as object,
        body: JSON.parse(track) as object,
        rawBase64: Buffer.from(track).toString('base64'),
      },
      expect.objectContaining({ v: 1, kind: 'summary', received: 1, wellFormed: 1, valid: 1 }),
    ])
  })

  test('keeps a payload with U+2028 on one line', async () => {
    const { command, url } = await listening(['--json', '--count', '1'])
    await post(url, '{"type":"track","userId":"u\u2028","event":"\u2029"}')
    const { stdout, records } = await command.ended
    expect(stdout).not.toMatch(/[\u2028\u2029]/)
    expect(records[1]).toMatchObject({ userId: 'u\u2028' })
  })

  test('counts well-formed webhooks, even with bad signatures, but no malformed ones', async () => {
    const { command, url } = await listening(['--json', '--secret', 'k', '--count', '2'])
    expect(await post(url, 'broken')).toMatchObject({ status: 400 })
    expect(await post(url, track)).toMatchObject({ status: 200 })
    expect(await post(url, track, 'f'.repeat(40))).toMatchObject({ status: 200 })
    const { code, records } = await command.ended
    expect(code).toBe(0)
    expect(records.filter(({ kind }) => kind === 'event')).toMatchObject([
      { type: null, body: null, code: 'invalid_json', status: 400 },
      { type: 'track', signature: 'missing', status: 200 },
      { type: 'track', signature: 'invalid', status: 200 },
    ])
    expect(records.at(-1)).toMatchObject({ received: 3, wellFormed: 2, malformed: 1 })
  })

  test('ends at --timeout with 5 if --count is not reached, with 0 without --count', async () => {
    const unmet = await run(['listen', '-p', '0', '--json', '--count', '1', '--timeout', '1ms'])
    expect(unmet.code).toBe(5)
    expect(unmet.records.at(-1)).toMatchObject({ kind: 'summary', received: 0 })
    expect(await run(['listen', '-p', '0', '--json', '--timeout', '1ms'])).toMatchObject({
      code: 0,
    })
  })

  test.each(['SIGINT', 'SIGTERM', 'output_closed'] as const)(
    'ends with 0 on %s',
    async (reason) => {
      const { command } = await listening(['--json'])
      command.stop(reason)
      const { code, records } = await command.ended
      expect(code).toBe(0)
      expect(records.map(({ kind }) => kind)).toEqual(
        reason === 'output_closed' ? ['ready'] : ['ready', 'summary'],
      )
    },
  )
})

describe('listen --strict', () => {
  test.each([
    { given: 'a wrong signature', body: track, signature: 'f'.repeat(40), code: 'invalid' },
    { given: 'no signature', body: track, signature: undefined, code: 'missing' },
    {
      given: 'bytes that are not a webhook',
      body: '{',
      signature: 'f'.repeat(40),
      code: 'invalid',
    },
  ])('answers 401 to $given and ends with 6', async ({ body, signature, code }) => {
    const { command, url } = await listening(['--json', '--secret', 'k', '--strict'])
    const answer = await post(url, body, signature)
    expect(answer).toMatchObject({ status: 401, body: { error: { code: `signature_${code}` } } })
    expect(await command.ended).toMatchObject({ code: 6 })
  })

  test('continues while signatures are valid', async () => {
    const { command, url } = await listening([
      '--json',
      '--secret',
      'k',
      '--strict',
      '--count',
      '2',
    ])
    await post(url, 'broken', signBody('broken', 'k'))
    await post(url, track, signBody(track, 'k'))
    await post(url, track, signBody(track, 'k'))
    expect(await command.ended).toMatchObject({ code: 0 })
  })

  test('needs a secret', async () => {
    const { code, stderr } = await run(['listen', '--port', '0', '--strict'])
    expect(code).toBe(2)
    expect(stderr).toContain('Cannot require valid signatures without a secret')
    expect((await run(['listen', '-p', '0', '--strict', '--secret', ''])).code).toBe(2)
  })
})

describe('listen', () => {
  test('answers as --respond says, after --delay', async () => {
    const { command, url } = await listening([
      '--json',
      '--respond',
      '503',
      '--delay',
      '2ms',
      '--count',
      '1',
    ])
    expect(await post(url, track)).toMatchObject({ status: 503 })
    const { records } = await command.ended
    expect(records[1]).toMatchObject({ status: 503 })
    expect(records[1]!['ms']).toBeGreaterThanOrEqual(1)
  })

  test('appends every request to --save, byte for byte', async () => {
    const file = join(await temporaryFolder(), 'capture.ndjson')
    await writeFile(file, '{"before":true}\n')
    const { command, url } = await listening(['--save', file, '--count', '1'])
    const bytes = Buffer.from([0x7b, 0xff, 0x00, 0x0a])
    await post(url, bytes)
    await post(url, track)
    expect(await command.ended).toMatchObject({ code: 0 })
    const [before, ...saved] = (await readFile(file, 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, string>)
    expect(before).toEqual({ before: true })
    expect(saved.map(({ rawBase64 }) => Buffer.from(rawBase64!, 'base64'))).toEqual([
      bytes,
      Buffer.from(track),
    ])
    expect(saved[1]).toMatchObject({ v: 1, kind: 'event', type: 'track' })
  })

  test('starts a new line after a torn last line of --save', async () => {
    const file = join(await temporaryFolder(), 'capture.ndjson')
    await writeFile(file, '{"v":1,"kind":"event","rawBa')
    const { command, url } = await listening(['--save', file, '--count', '1'])
    await post(url, track)
    expect(await command.ended).toMatchObject({ code: 0 })
    const [torn, saved] = (await readFile(file, 'utf8')).split('\n')
    expect(torn).toBe('{"v":1,"kind":"event","rawBa')
    expect(JSON.parse(saved!)).toMatchObject({ v: 1, kind: 'event', type: 'track' })
  })

  test('ends with 7 if the file cannot be written or the port is in use', async () => {
    const unwritable = await run(['listen', '-p', '0', '--save', '/nowhere/capture.ndjson'])
    expect(unwritable.code).toBe(7)
    expect(unwritable.stderr).toContain('Cannot save to /nowhere/capture.ndjson')
    const { command, url } = await listening()
    const { port } = new URL(url)
    const taken = await run(['listen', '--port', port])
    expect(taken).toMatchObject({
      code: 7,
      stderr: `evroute: Cannot listen on port ${port}: another process is using it. Pass --port 0 for a free one.\n`,
    })
    command.stop()
    await command.ended
  })

  test.skipIf(!existsSync('/dev/full'))(
    'ends at once with 7 if the capture cannot be written',
    async () => {
      const { command, url } = await listening(['--save', '/dev/full', '--count', '2'])
      await post(url, track)
      const { code, stderr } = await command.ended
      expect(code).toBe(7)
      expect(stderr).toContain('Cannot save to /dev/full: no space is left (ENOSPC)')
      expect(stderr).toContain('Check that there is free space there.')
    },
  )

  test.each([
    [['--port', '65536'], '0 to 65535'],
    [['--respond', '199'], '200 to 599'],
    [['--count', '0'], '1 to 1000000000'],
    [['--delay', '2h'], 'at most 1h'],
    [['--timeout', 'soon'], '500ms, 5s'],
  ])('refuses %j with 2', async (argv, hint) => {
    const { code, stderr } = await run(['listen', ...argv])
    expect(code).toBe(2)
    expect(stderr).toContain(hint)
  })

  test('prints its URL and whether it checks signatures on stderr, and counts at the end', async () => {
    const { command, url } = await listening(['--secret', 'k'])
    expect(command.stderr.text).toMatch(
      /^Listening {2}http:\/\/127\.0\.0\.1:\d+\nPage {7}http:\/\/127\.0\.0\.1:\d+\/_evroute\/\nSignature {2}checked\nCtrl-C stops it\. In another terminal:\n {2}evroute send track .*\n\n$/,
    )
    await post(url, track, signBody(track, 'k'))
    await post(url, track)
    await post(url, track, 'x')
    await post(url, 'broken', signBody('broken', 'k'))
    command.stop()
    const { stderr } = await command.ended
    expect(stderr).toMatch(
      /\n3 webhooks, 1 malformed, 2 with a valid signature, 1 with a wrong one, 1 without one in \S+\n$/,
    )
  })

  test('says whether it checks signatures, and that other machines can reach it', async () => {
    const unchecked = await listening(['--host', '0.0.0.0'])
    expect(unchecked.command.stderr.text).toContain('not checked; pass --secret')
    expect(unchecked.command.stderr.text).toContain(
      'Other machines can reach this receiver: it listens on 0.0.0.0',
    )
    const strict = await listening(['--strict'], { env: { EVROUTE_SECRET: 'k' } })
    expect(strict.command.stderr.text).toContain('bad ones are refused with 401')
    expect(strict.command.stderr.text).not.toContain('Other machines')
    for (const { command } of [unchecked, strict]) {
      command.stop()
      await command.ended
    }
  })

  test.each([
    [[], {}, ''],
    [['--secret', 'not-a-real-secret'], {}, ' --secret ...'],
    [[], { EVROUTE_SECRET: 'not-a-real-secret' }, ' --secret env:EVROUTE_SECRET'],
  ])('prints the command that sends to it, with %j and %j', async (argv, env, end) => {
    const { command, url } = await listening(argv, { env })
    expect(command.stderr.text).toContain(`\n  evroute send track --to ${url}${end}\n`)
    expect(command.stderr.text).not.toContain('not-a-real-secret')
    command.stop()
    await command.ended
  })

  test('with -q, prints nothing when it starts and ends', async () => {
    const quiet = start(['listen', '-p', '0', '-q', '--timeout', '1ms'])
    expect(await quiet.ended).toMatchObject({ code: 0, stdout: '', stderr: '' })
  })

  test('writes a line per request, and below it what is wrong', async () => {
    const { command, url } = await listening(['--secret', 'k'])
    await post(url, track, signBody(track, 'k'))
    await post(url, track)
    await post(url, 'broken', signBody('broken', 'k'))
    await httpRequest(url, { method: 'GET' }).then(({ body }) => body.dump())
    command.stop()
    const { stdout } = await command.ended
    const lines = stdout.trimEnd().split('\n')
    const time = String.raw`^\d\d:\d\d:\d\d\.\d{3}`
    expect(lines[0]).toMatch(
      new RegExp(
        `${time}  #1    TRACK      u_1     “Order Completed” revenue=39\\.95  ✔ signed  200  \\d+ms$`,
      ),
    )
    expect(lines[1]).toMatch(new RegExp(`${time}  #2    TRACK .* ✖ unsigned  200  \\d+ms$`))
    expect(lines[2]).toBe('  └ The request has no X-Signature header')
    expect(lines[3]).toMatch(
      new RegExp(`${time}  #3    MALFORMED  -       invalid_json POST / 6 bytes  ✔ signed  400`),
    )
    expect(lines[4]).toMatch(/^ {2}└ \S/)
    expect(lines[5]).toMatch(
      new RegExp(
        `${time}  #4    MALFORMED  -       method_not_allowed GET / 0 bytes  - unchecked  405`,
      ),
    )
  })

  test('prints the whole payload with -v, without control characters', async () => {
    const { command, url } = await listening(['-v', '--count', '1'])
    await post(url, '\u001b[2Jno json\u202e\u0007')
    await post(
      url,
      JSON.stringify({
        type: 'identify',
        userId: '\u001b[31mu\u009b',
        traits: { 'a\u202e': '\u001b]0;t\u0007', n: 1, 'k"': null },
      }),
    )
    const { stdout } = await command.ended
    expect(stdout).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u)
    expect(stdout).toContain('\n      {\n        "type": "identify",\n')
    expect(stdout).toContain('          "n": 1,\n')
    expect(stdout).toContain('      no json\n')
  })

  test('colours its output on request', async () => {
    const { command, url } = await listening(['-v', '--count', '1'], {
      env: { FORCE_COLOR: '1' },
    })
    await post(url, track)
    const { stdout } = await command.ended
    expect(stdout).toContain('\u001b[1mTRACK')
    expect(stdout).toContain('\u001b[36m"type"\u001b[39m: \u001b[32m"track"')
  })

  test('keeps every request on one line of a narrow terminal', async () => {
    const { command, url } = await listening([], { columns: 60 })
    const types = ['identify', 'track', 'page', 'screen', 'group', 'alias', 'delete']
    for (const type of types) await post(url, await readFile(fixture(`webhooks/${type}.json`)))
    await post(
      url,
      JSON.stringify({ type: 'track', userId: 'u'.repeat(50), event: 'E'.repeat(90) }),
    )
    await post(
      url,
      JSON.stringify({
        type: 'track',
        userId: '山田太郎様'.repeat(3),
        event: '注文完了🎉'.repeat(9),
      }),
    )
    await httpRequest(`${url}/${'p'.repeat(99)}`, { method: 'PUT' }).then(({ body }) => body.dump())
    command.stop()
    const { stdout } = await command.ended
    const lines = stdout
      .trimEnd()
      .split('\n')
      .filter((line) => line.startsWith('#'))
    expect(lines).toHaveLength(10)
    expect(lines.map(columnsOf).filter((width) => width > 60)).toEqual([])
    expect(lines[7]).toMatch(/^#8 {4}TRACK {6}u{11}… {2}“E+… {2}- {2}200$/)
  })
})

test('listen knows the secrets of the destinations of --config by name', async () => {
  const file = join(await temporaryFolder(), 'evroute.config.json')
  const endpoints = [{ url: 'https://hooks.example.com' }]
  const crm = { id: 'crm', type: 'Webhooks', sources: ['web'], sharedSecret: 'not-a-real-crm' }
  const sources = [{ id: 'web', writeKeys: ['not-a-real-key'] }]
  await writeFile(file, JSON.stringify({ sources, destinations: [{ ...crm, endpoints }] }))
  const { command, url } = await listening(['--secret', 'k', '--config', file, '--count', '1'])
  await post(url, track, signBody(track, 'not-a-real-crm'))
  const { stdout } = await command.ended
  expect(stdout).toContain('└ The signature was made with the secret of the destination crm. Fix: ')
})
