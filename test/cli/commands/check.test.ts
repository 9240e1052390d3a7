import { describe, expect, test } from 'vitest'
import { signBody } from '../../../src/webhook/index.ts'
import { comparing, correct, secret, startHandler } from '../../handler-check/handlers.ts'
import { unreachableUrl } from '../../support/free-port.ts'
import { run, start } from '../../support/io.ts'

const reSerialising = comparing((rawBody) =>
  signBody(JSON.stringify(JSON.parse(rawBody.toString())), secret),
)

function checked(url: string, ...argv: readonly string[]): ReturnType<typeof run> {
  return run(['check', url, '--secret', secret, ...argv], { columns: 80 })
}

describe('check', () => {
  test('ends with 0 for a correct handler, and shows every case', async () => {
    const url = await startHandler(correct)
    const { code, stdout, stderr } = await checked(`${url}?key=hidden`)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^Checking http:\/\/127\.0\.0\.1:\d+\/webhooks\?…\n/)
    expect(stdout).toMatch(/A correct handler accepts these\n✔ plain +200 +[\d.]+m?s {2}as evroute/)
    expect(stdout).toMatch(/A correct handler refuses these\n✔ wrong-secret +401 /)
    expect(stdout).toMatch(/\n✔ (\d+) of \1 cases right \(.+\)\n$/)
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
  })

  test('ends with 6 for an incorrect handler, and names the mistake and its fix', async () => {
    const url = await startHandler(reSerialising)
    const { code, stdout } = await checked(url)
    expect(code).toBe(6)
    expect(stdout).toMatch(/\n✖ spaced +401 /)
    expect(stdout).toContain(
      '\n✖ It verifies JSON.stringify of the parsed body, not the bytes that',
    )
    expect(stdout).toMatch(/\n {2}Fix: Keep the bytes that arrive .*express\.raw\(\{ type/s)
    expect(stdout).toMatch(/\n {2}Cases: spaced, escaped, /)
    expect(stdout).toMatch(/\n✖ \d+ of \d+ cases right, 7 wrong \(.+\)\n$/)
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
  })

  test('with --quiet, shows only the mistakes and the summary', async () => {
    const { stdout } = await checked(await startHandler(reSerialising), '-q')
    expect(stdout).toMatch(/^\n✖ It verifies/)
  })

  test('prints a correct handler if the handler is incorrect', async () => {
    const wrong = await checked(await startHandler(() => 200), '--language', 'python')
    expect(wrong.code).toBe(6)
    expect(wrong.stderr).toContain('def is_signed(raw_body, signature):')
    const right = await checked(await startHandler(correct), '--language', 'python')
    expect(right).toMatchObject({ code: 0, stderr: '' })
  })

  test('with only --language, prints a correct handler and checks none', async () => {
    const { code, stdout, stderr } = await run(['check', '--language', 'node'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^import .*createServer\(/s)
  })

  test('ends with 4 if nothing answers', async () => {
    const { code, stdout } = await checked(await unreachableUrl())
    expect(code).toBe(4)
    expect(stdout).toMatch(/✖ plain +ECONNREFUSED/)
    expect(stdout).toContain('It cannot be reached: connection refused (ECONNREFUSED).')
    expect(stdout).toContain('\n  Cases: plain, spaced, escaped\n')
    const one = await checked(await unreachableUrl(), '--only', 'plain')
    expect(one.stdout).toMatch(/\n✖ 0 of 1 case right, 1 wrong \(/)
    expect(stdout).toMatch(/0 of \d+ cases right, 3 wrong, \d+ not sent/)
    // A row for each of the three cases that were sent.
    expect(stdout.match(/ECONNREFUSED {2,}/g)).toHaveLength(3)
    expect(stdout.split('\n').length).toBeLessThan(15)
  })

  test('prints records for programs', async () => {
    const url = await startHandler(() => 200)
    const argv = ['--json', '--only', 'plain', '--only', 'wrong-secret']
    const { code, records } = await checked(url, ...argv)
    expect(code).toBe(6)
    const ms = expect.any(Number) as number
    const verdict = { v: 1, kind: 'verdict', type: 'track', reaction: 'taken', status: 200, ms }
    expect(records).toEqual([
      { v: 1, kind: 'ready', url, cases: 2 },
      { ...verdict, case: 'plain', expected: 'taken', right: true, error: null },
      { ...verdict, case: 'wrong-secret', expected: 'refused', right: false, error: null },
      {
        v: 1,
        kind: 'finding',
        code: 'does_not_verify',
        message: expect.stringMatching(/does not verify/) as string,
        fix: expect.any(String) as string,
        cases: ['wrong-secret'],
      },
      { v: 1, kind: 'summary', right: 1, wrong: 1, notSent: 0, ms },
    ])
  })

  test('sends the given types and headers', async () => {
    const seen: unknown[] = []
    const url = await startHandler((request) => {
      const { type, userId } = JSON.parse(request.rawBody.toString()) as Record<string, unknown>
      seen.push([type, request.headers['x-team'], typeof userId])
      return correct(request)
    })
    const { code } = await checked(url, '--type', 'page', '--type', 'delete', '-H', 'X-Team: a')
    expect(code).toBe(0)
    const kinds = [...new Set(seen.map((each) => JSON.stringify(each)))]
    expect(kinds.sort()).toEqual(['["delete","a","string"]', '["page","a","string"]'])
  })

  test('lists its cases, and needs neither a URL nor a secret for that', async () => {
    const { code, stdout } = await run(['check', '--list'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^plain +taken {4}as evroute writes it\n/)
    expect(stdout).toMatch(/\nforged-delete +refused {2}of type delete/)
    const { records } = await run(['check', '--list', '--json', '--only', 'large'])
    expect(records).toMatchObject([{ kind: 'case', case: 'large', expected: 'taken' }])
  })

  test.each(['SIGINT', 'output_closed'] as const)('ends with 130 after %s', async (reason) => {
    const command = start(
      ['check', await startHandler(() => 'hang'), '--secret', secret, '--json'],
      {},
    )
    await command.stdout.record('ready')
    command.stop(reason)
    const { code, records } = await command.ended
    expect(code).toBe(130)
    if (reason === 'SIGINT') expect(records.at(-1)).toMatchObject({ right: 0, wrong: 0 })
  })

  test.each([
    [[], 'Cannot check a handler without its URL'],
    [['http://127.0.0.1:1/'], 'Cannot sign or verify without a secret'],
    [['ftp://127.0.0.1:1/', '--secret', 'k'], 'Cannot'],
    [['http://127.0.0.1:1/', '--secret', 'k', '--only', 'plian'], 'Did you mean plain?'],
    [['http://127.0.0.1:1/', '--secret', 'k', '--type', 'order'], 'It must be one of identify'],
    [
      ['http://127.0.0.1:1/', '--secret', 'k', '--timeout', '6s'],
      'It must be at least 1ms and at most 5s',
    ],
    [['http://127.0.0.1:1/', '--secret', 'k', '--language', 'cobol'], 'a handler for "cobol"'],
    [['http://127.0.0.1:1/', '--secret', 'k', '-H', 'X-Signature: a'], 'X-Signature'],
  ])('%j is refused with 2', async (argv, message) => {
    const { code, stdout, stderr } = await run(['check', ...argv])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
  })
})
