import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { signBody } from '../../../src/webhook/index.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { unreachableUrl } from '../../support/free-port.ts'
import { run, start } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const track = '{"type":"track","userId":"u_1","event":"Order Completed"}'
const env = { PATH: process.env['PATH'] }

async function post(
  url: unknown,
  body = track,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const response = await request(url as string, { method: 'POST', body, headers })
  await response.body.dump()
  return response.statusCode
}

function signature(secret: string): Readonly<Record<string, string>> {
  return { 'x-signature': signBody(track, secret) }
}

async function listening(argv: readonly string[]) {
  const command = start(['listen', '-p', '0', '--json', ...argv], { env })
  return { command, url: (await command.stdout.record('ready'))['url'] }
}

describe('listen --forward-to', () => {
  test('records the target of a webhook and its answer', async () => {
    const [rest, tracks] = [await TestEndpoint.start(202), await TestEndpoint.start(500)]
    const argv = ['--forward-to', rest.url, '--forward-to', `track=${tracks.url}`]
    const { command, url } = await listening([...argv, '--count', '2'])
    expect([await post(url), await post(url, '{"type":"page"}')]).toEqual([500, 202])
    const { records } = await command.ended
    const ms = expect.any(Number) as number
    expect(records.filter(({ kind }) => kind === 'event')).toMatchObject([
      { status: 500, forward: { url: tracks.url, status: 500, ms, error: null } },
      { status: 202, forward: { url: rest.url, status: 202, ms, error: null } },
    ])
  })

  test('shows an answer that is not 2xx, by its first line and without control characters', async () => {
    const body = '\u001b[2JNo such \u202eorder\nat line 7'
    const endpoint = await TestEndpoint.start([{ status: 422, body }, 200])
    const argv = ['--forward-to', `${endpoint.url}?key=secret`, '--count', '2']
    const command = start(['listen', '-p', '0', ...argv])
    const [, url] = await command.stderr.matching(/Listening {2}(\S+)\n/)
    expect([await post(url), await post(url)]).toEqual([422, 200])
    const { stdout, stderr } = await command.ended
    expect(stdout).toContain(`  └ ${endpoint.url}?… answered 422: No such order\n`)
    expect(stdout.match(/└/g)).toHaveLength(1)
    expect(stderr).toContain(`Forward    ${endpoint.url}?…\n`)
    expect(stdout + stderr).not.toContain('key=secret')
  })

  test('says how to find out why a valid signature is refused', async () => {
    const endpoint = await TestEndpoint.start(401)
    const argv = ['--forward-to', endpoint.url, '--secret', 'k', '--count', '1']
    const command = start(['listen', '-p', '0', ...argv])
    const [, url] = await command.stderr.matching(/Listening {2}(\S+)\n/)
    expect(await post(url, track, signature('k'))).toBe(401)
    const { stdout } = await command.ended
    expect(stdout).toContain(`  └ ${endpoint.url} answered 401\n  └ the signature is valid: `)
  })

  test('answers 502 if nothing listens at the target, says so and continues', async () => {
    const target = await unreachableUrl()
    const command = start(['listen', '-p', '0', '--forward-to', target, '--count', '2'])
    const [, url] = await command.stderr.matching(/Listening {2}(\S+)\n/)
    expect([await post(url), await post(url)]).toEqual([502, 502])
    const { code, stdout } = await command.ended
    expect(code).toBe(0)
    const line = `└ cannot forward to ${target}: connection refused (ECONNREFUSED); nothing is listening there\n`
    expect(stdout.split(line)).toHaveLength(3)
  })

  test.each([
    ['a target that hangs', (url: string) => ['--forward-to', url, '--forward-timeout', '0']],
    ['an answer that is delayed', () => ['--delay', '1h']],
  ])('ends at --timeout in spite of %s, and reports the request', async (_, flags) => {
    const endpoint = await TestEndpoint.start('hang')
    const argv = [...flags(endpoint.url), '--timeout', '1s', '--expect', 'type:track x1']
    const { command, url } = await listening(argv)
    const posted = post(url)
    const { code, records } = await command.ended
    await posted
    expect(code).toBe(0)
    expect(records.map(({ kind }) => kind)).toEqual(['ready', 'event', 'summary'])
  })

  test.each([
    [['--forward-to', 'app.example.com'], 'not a full http or https URL'],
    [['--forward-to', 'http://a.example.com', '--forward-to', 'http://b.example.com'], 'two URLs'],
    [['--forward-timeout', '-1'], 'It must be a duration such as'],
    [['--forward-timeout', '2h'], 'It must be at most 1h'],
  ])('refuses %j with 2', async (argv, message) => {
    const { code, stderr } = await run(['listen', '-p', '0', '--timeout', '1ms', ...argv])
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })
})

describe('listen --on-event', () => {
  async function script(text: string): Promise<string> {
    const path = join(await temporaryFolder(), 'hook.sh')
    await writeFile(path, `#!/bin/sh\n${text}\n`)
    await chmod(path, 0o755)
    return path
  }

  test('runs the program with its arguments and the record of the event on stdin', async () => {
    const path = await script('printf "%s|" "$@" > "$1"; cat >> "$1"')
    const file = join(await temporaryFolder(), 'seen')
    const { command, url } = await listening([
      '--count',
      '1',
      '--on-event',
      path,
      '--',
      file,
      '-x y',
    ])
    expect(await post(url)).toBe(200)
    const { code, records, stderr, stdout } = await command.ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const line = stdout.split('\n').find((each) => each.includes('"kind":"event"'))
    expect(await readFile(file, 'utf8')).toBe(`${file}|-x y|${line ?? ''}\n`)
    expect(records.map(({ kind }) => kind)).toEqual(['ready', 'event', 'summary'])
  })

  test('passes on what the program prints to stderr, reports its failure, and still answers', async () => {
    const path = await script('echo seen; exit 3')
    const { command, url } = await listening(['--count', '1', '--on-event', path])
    expect(await post(url)).toBe(200)
    const { code, stderr } = await command.ended
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: `seen\n--on-event ${path} ended with exit code 3 (event #1)\n`,
    })
  })

  test('runs the program neither for a web page nor without a valid signature, unless this is allowed', async () => {
    const path = await script('echo seen')
    const secret = 'not-a-real-secret'
    const argv = ['--count', '3', '--secret', secret, '--on-event', path]
    const page = { ...signature(secret), origin: 'https://shop.example.com' }
    const wrong = signature('another-fake-secret')
    for (const [flags, times] of [
      [[], 1],
      [['--allow-unverified'], 3],
    ] as const) {
      const { command, url } = await listening([...argv, ...flags])
      for (const headers of [page, wrong, signature(secret)]) await post(url, track, headers)
      const { records, stderr } = await command.ended
      expect(stderr).toBe('seen\n'.repeat(times))
      expect(records.flatMap(({ withheld }) => withheld ?? [])).toEqual(
        flags.length > 0 ? [] : ['foreign_origin', 'signature_not_valid'],
      )
    }
  })

  test('prints why a request was not passed on, below its line', async () => {
    const path = await script('echo seen')
    const command = start(['listen', '-p', '0', '--count', '1', '--on-event', path])
    const [, url] = await command.stderr.matching(/Listening {2}(\S+)\n/)
    await post(url, track, { origin: 'https://shop.example.com' })
    const { stdout } = await command.ended
    expect(stdout).toContain(
      '  └ not passed on: a web page from another origin sent it; --allow-unverified passes it on\n',
    )
  })

  test('does not delay senders, and ends its programs on a signal', async () => {
    const path = await script('echo began; sleep 1000')
    const { command, url } = await listening(['--on-event', path])
    expect(await post(url)).toBe(200)
    await command.stderr.matching(/began/)
    command.stop()
    const { code, stderr } = await command.ended
    expect(code).toBe(0)
    expect(stderr).toContain('was ended by SIGTERM (event #1)\n')
  })

  test('says nothing with --quiet', async () => {
    const path = await script('echo seen; exit 3')
    const { command, url } = await listening(['--count', '1', '-q', '--on-event', path])
    await post(url)
    expect(await command.ended).toMatchObject({ code: 0, stderr: '' })
  })

  test.each([
    [['extra'], 'Cannot use "extra": only the --on-event program takes arguments'],
    [['--on-event', ''], 'Cannot run a program without a name'],
  ])('refuses %j with 2', async (argv, message) => {
    const { code, stderr } = await run(['listen', '-p', '0', '--timeout', '1ms', ...argv])
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })
})
