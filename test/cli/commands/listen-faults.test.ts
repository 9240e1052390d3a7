import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { stripVTControlCharacters } from 'node:util'
import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { faults, scenarios } from '../../../src/receiver/index.ts'
import { tlsKinds } from '../../../src/receiver/faults/index.ts'
import { run, start, type RunningCommand, type RunSettings } from '../../support/io.ts'

const track = '{"type":"track","userId":"u_1","event":"Order Completed"}'
const page = '{"type":"page","userId":"u_1"}'

/** Starts the receiver on free ports, and returns its ready record. */
async function listening(...argv: readonly string[]): Promise<{
  command: RunningCommand
  ready: { url: string; urls: readonly string[]; ca: string | null }
}> {
  const command = start(['listen', '--port', '0', '--json', ...argv])
  const ready = (await command.stdout.record('ready')) as never
  return { command, ready }
}

/** Starts the receiver and returns its ready record. */
async function banner(
  argv: readonly string[],
  settings?: RunSettings,
): Promise<{ command: RunningCommand; text: string }> {
  const command = start(['listen', '--port', '0', ...argv], settings)
  await command.stderr.matching(/Ctrl-C.*\n.*\n\n/)
  return { command, text: stripVTControlCharacters(command.stderr.text) }
}

async function post(url: string, body = track): Promise<number> {
  const response = await request(url, { method: 'POST', body })
  await response.body.dump()
  return response.statusCode
}

describe('listen', () => {
  test('answers by plans, general or per type, and records injected faults', async () => {
    const { command, ready } = await listening(
      '--respond',
      '503x2,200',
      '--respond',
      'type=page:429',
      '--count',
      '4',
    )
    const { url } = ready
    expect([await post(url), await post(url, page), await post(url), await post(url)]).toEqual([
      503, 429, 503, 200,
    ])
    const { records } = await command.ended
    expect(records.filter(({ kind }) => kind === 'event')).toMatchObject([
      { status: 503, injected: 'status 503', endpoint: null },
      { status: 429, injected: 'status 429' },
      { status: 503, injected: 'status 503' },
      { status: 200, injected: null },
    ])
  })

  test('delays answers by a random time within a range', async () => {
    const { command, ready } = await listening('--delay', '1ms..3ms', '--count', '1')
    expect(await post(ready.url)).toBe(200)
    const injected = expect.stringMatching(/^delay [123]ms$/) as string
    expect((await command.ended).records[1]).toMatchObject({ status: 200, injected })
  })

  test('fails a share of the webhooks, the same ones for the same seed', async () => {
    const statuses = async (): Promise<readonly number[]> => {
      const { command, ready } = await listening('--fail', '50%', '--seed', '7')
      const found: number[] = []
      for (let turn = 0; turn < 20; turn += 1) found.push(await post(ready.url))
      command.stop()
      await command.ended
      return found
    }
    const found = await statuses()
    expect(new Set(found)).toEqual(new Set([200, 500]))
    expect(await statuses()).toEqual(found)
  })

  test('injects a fault', async () => {
    const { command, ready } = await listening('--fault', 'reset', '--count', '1')
    await expect(post(ready.url)).rejects.toThrow(expect.objectContaining({ code: 'ECONNRESET' }))
    expect((await command.ended).records[1]).toMatchObject({ status: null, injected: 'reset' })
  })

  test('opens several endpoints, and records which one got a request', async () => {
    const { command, ready } = await listening(
      ...['--endpoints', '3', '--respond', 'endpoint=2:503', '--count', '2'],
    )
    expect(ready.urls).toHaveLength(3)
    expect(ready.url).toBe(ready.urls[0])
    expect(await post(ready.urls[2]!)).toBe(200)
    expect(await post(ready.urls[1]!)).toBe(503)
    const { records } = await command.ended
    expect(records.filter(({ kind }) => kind === 'event')).toMatchObject([
      { seq: 1, endpoint: 3, status: 200 },
      { seq: 2, endpoint: 2, status: 503 },
    ])
  })

  test('shows the plan and each injected fault', async () => {
    const { command, text } = await banner(['--endpoints', '2', '--respond', 'endpoint=2:503'])
    const urls = [...text.matchAll(/(http:\S+\d) @\d/g)].map(([, url]) => url!)
    expect(text).toContain(`Listening  ${urls[0]!} @1\n           ${urls[1]!} @2\n`)
    expect(text).toContain(`evroute send track --to ${urls[0]!} --to ${urls[1]!}`)
    await post(urls[0]!)
    await post(urls[1]!)
    await post(`${urls[0]!}/delay/1ms`)
    await expect(post(`${urls[1]!}/fault/empty`)).rejects.toThrow()
    command.stop()
    const lines = (await command.ended).stdout.trimEnd().split('\n')
    expect(lines[0]).toMatch(/#1 {4}@1 {2}TRACK .* 200 {2}\d+ms$/)
    expect(lines[1]).toMatch(/#2 {4}@2 {2}TRACK .* 503 {2}\d+ms {2}injected status 503$/)
    expect(lines[2]).toMatch(/#3 {4}@1 {2}TRACK .* 200 {2}\d+ms {2}injected delay 1ms$/)
    expect(lines[3]).toMatch(/#4 {4}@2 {2}TRACK .* - {2}\d+ms {2}injected empty$/)
  })

  test('on a narrow terminal, says only that it injected a fault', async () => {
    const { command, text } = await banner([], { columns: 80 })
    const [, url = ''] = /Listening {2}(\S+)/.exec(text) ?? []
    await post(`${url}/status/503`)
    command.stop()
    expect((await command.ended).stdout).toMatch(/ 503 {2}injected\n$/)
  })
})

test('on a narrow terminal, the banner is wrapped between words, and its command is not', async () => {
  const { command, text } = await banner(['--scenario', 'flaky'], { columns: 50 })
  command.stop()
  await command.ended
  const lines = text.split('\n').filter((line) => !line.includes(' send track'))
  expect(lines.filter((line) => line.length > 50)).toEqual([])
  expect(text).toMatch(/Scenario {3}flaky: .+\n {11}\w/)
  expect(text).toMatch(
    /^ {2}evroute send track --to \S+ --count \d+ --retry-for 4h --clock virtual$/m,
  )
})

describe('listen --tls', () => {
  test('saves the certificate of its authority while it runs', async () => {
    const { command, ready } = await listening('--tls', 'valid')
    expect(ready.url).toMatch(/^https:/)
    const authority = new X509Certificate(await readFile(ready.ca!, 'utf8'))
    expect(authority.ca).toBe(true)
    command.stop()
    expect((await command.ended).code).toBe(0)
    expect(existsSync(ready.ca!)).toBe(false)
  })

  test('names the file of the certificate, and the command that trusts it', async () => {
    const { command, text } = await banner(['--tls', 'expired'])
    const [, path = ''] = /Authority {2}(\S+)\n/.exec(text) ?? []
    expect(existsSync(path)).toBe(true)
    expect(text).toContain(`  NODE_EXTRA_CA_CERTS=${path} evroute send track --to https://`)
    command.stop()
    await command.ended
  })

  test('writes no authority file for a self-signed certificate', async () => {
    const { command, ready } = await listening('--tls', 'self-signed')
    expect(ready.ca).toBeNull()
    command.stop()
    await command.ended
  })

  test('ends with 7 if the file of the certificate cannot be written', async () => {
    const { TMPDIR } = process.env
    process.env['TMPDIR'] = '/nowhere'
    try {
      const { code, stderr } = await run(['listen', '-p', '0', '--tls', 'valid'])
      expect(code).toBe(7)
      expect(stderr).toContain('Cannot save the certificate of the test authority')
    } finally {
      if (TMPDIR === undefined) delete process.env['TMPDIR']
      else process.env['TMPDIR'] = TMPDIR
    }
  })
})

describe('listen --scenario', () => {
  test('uses the settings of the scenario, and describes it', async () => {
    const { command, text } = await banner(['--scenario', '5xx-then-ok'])
    const { rule, expected } = scenarios.find(({ name }) => name === '5xx-then-ok')!
    expect(text).toContain(
      `Scenario   5xx-then-ok: ${rule}\n           Expected: ${expected.text}.`,
    )
    const [, url = ''] = /Listening {2}(\S+)/.exec(text) ?? []
    // The suggested command demonstrates the scenario.
    const [, tried = ''] = /^ {2}evroute (.*)$/m.exec(text) ?? []
    expect(tried).toBe(`send track --to ${url} --retry-for 4h --clock virtual`)
    const { code, stderr: printed } = await run([...tried.split(' '), '--json'])
    expect([code, printed]).toEqual([0, ''])
    command.stop()
    await command.ended
  })

  test('opens as many endpoints as the scenario needs', async () => {
    const { command, ready } = await listening('--scenario', 'any-succeeds')
    expect(ready.urls).toHaveLength(5)
    command.stop()
    await command.ended
  })

  test.each(['--respond', '--delay', '--fail', '--fault', '--seed', '--tls', '--endpoints'])(
    'cannot be changed with %s',
    async (flag) => {
      const values: Readonly<Record<string, string>> = { '--delay': '1s', '--fail': '1%' }
      const argv = ['listen', '--scenario', 'timeout', flag, values[flag] ?? '1']
      const { code, stderr } = await run(argv)
      expect(code).toBe(2)
      expect(stderr).toContain('Cannot use ')
    },
  )
})

describe('listen refuses with 2', () => {
  test.each([
    [['--respond', '503,20O'], 'Cannot read the plan at character 5: this is not an answer'],
    [['--respond', '503,20O'], '\n  503,20O\n      ^^^\n'],
    [['--respond', 'endpoint=2:503'], 'Cannot plan answers for endpoint 2: there is only 1'],
    [['--respond', '503', '--respond', '200'], 'Cannot use two plans for every webhook'],
    [['--respond', '503', '--fault', 'reset'], 'Put the fault into the plan'],
    [['--delay', '8s..1s'], '1s..8s'],
    [['--delay', '1s..2s..3s'], '1s..8s'],
    [['--delay', '1s..2h'], 'at most 1h'],
    [['--fail', '20'], 'It must be a percentage'],
    [['--fail', '101%'], 'from 0% to 100%'],
    [['--fault', 'explode'], 'it must be one of reset, hang, empty'],
    [['--tls', 'weak'], 'it must be one of self-signed, expired, wrong-host, valid'],
    [['--endpoints', '6'], '1 to 5'],
    [['--seed', '-1'], 'whole number'],
    [['--scenario', 'up-4h'], 'timeout, 5xx-then-ok, down-4h'],
  ])('%j', async (argv, hint) => {
    const { code, stderr } = await run(['listen', '-p', '0', ...argv])
    expect(stderr).toContain(hint)
    expect(code).toBe(2)
  })
})

test('the help of listen names every fault, kind of certificate and scenario', async () => {
  const { stdout } = await run(['listen', '--help'])
  const text = stdout.replace(/\s+/g, ' ')
  const known = [...faults, ...tlsKinds, ...scenarios.map(({ name }) => name)]
  expect(known.filter((name) => !text.includes(name))).toEqual([])
})
