import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { run, start } from '../../support/io.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { argvOf, runModule, sendSigned } from './run-module.ts'

const node = process.execPath
const { PATH = '' } = process.env

/** The arguments of a command that leaves a process behind, which sends once the command has ended. */
function afterItsEnd(flags: readonly string[]): readonly string[] {
  const program = `${sendSigned}
    const isThere = () => process.kill(Number(process.env.COMMAND), 0)
    for (;;) try { isThere(); await new Promise((go) => setTimeout(go, 10)) } catch { break }
    await send({ event: 'Paid' })`
  const script = 'COMMAND=$$ "$0" --input-type=module -e "$1" < /dev/null & exit 0'
  return ['run', ...flags, '--', 'sh', '-c', script, node, program]
}

/** The arguments of a command that ends while the receiver delays its answer for this long. */
function whileDelayed(flags: readonly string[], delay: string): readonly string[] {
  const inBackground = `
    const url = process.env.EVROUTE_URL + '/delay/${delay}'
    const headers = { expect: '100-continue' }
    const request = require('node:http').request(url, { method: 'POST', headers })
    request.on('continue', () => request.end('{"type":"track","userId":"u_1","event":"Paid"}'))
    request.on('continue', () => console.log('in hand'))`
  const program = `
    const { spawn } = await import('node:child_process')
    const stdio = ['ignore', 'pipe', 'ignore']
    const child = spawn(process.execPath, ['-e', ${JSON.stringify(inBackground)}], { stdio })
    child.stdout.once('data', () => process.exit(0))`
  return argvOf(flags, program)
}

describe('run', () => {
  test.each([0, 1, 3, 255])('ends with the code of the command: %i', async (code) => {
    expect(await runModule([], `process.exitCode = ${code}`)).toMatchObject({ code, stdout: '' })
  })

  test('ends with 128 and the number of the signal that ended the command', async () => {
    const finished = await runModule([], "process.kill(process.pid, 'SIGKILL')")
    expect(finished.code).toBe(137)
  })

  test.each([
    [
      ['no-such-program'],
      'evroute: Cannot run no-such-program: there is no such program. Check its name and PATH.',
    ],
    [[import.meta.filename], 'it is not executable. Make it executable, or pass its interpreter'],
    [
      [`${import.meta.filename}/x`],
      `Cannot run ${import.meta.filename}/x: there is no such program`,
    ],
    [[], 'No command given. Put it after --'],
  ])('ends with 2 if the command cannot be run: %s', async (command, message) => {
    const { code, stderr } = await run(['run', '--', ...command], { env: { PATH } })
    expect(stderr).toContain(message)
    expect(code).toBe(2)
  })

  test.each([
    [
      ['--json', '--', 'true'],
      'Cannot use --json together with a command: stdout belongs to the command',
    ],
    [['--scenario', 'all', '--', 'true'], 'Cannot run a command with --scenario'],
    [['--scenario', 'all', '--serve'], 'Cannot use --scenario together with --serve'],
    [['--scenario', 'up-4h'], 'it must be one of timeout, 5xx-then-ok'],
    [['--expect', 'tpye:track', '--', 'true'], '^^^^'],
    [['--respond', '99', '--', 'true'], 'An answer can be a status from 200 to 599'],
  ])('ends with 2 for %s', async (argv, message) => {
    const { code, stderr } = await run(['run', ...argv], { env: { PATH } })
    expect(stderr).toContain(message)
    expect(code).toBe(2)
  })

  test('explains why it refuses --json', async () => {
    const { stderr } = await run(['run', '--', 'no-such-program', '--json'], { env: { PATH } })
    expect(stderr).toContain('evroute: Cannot run no-such-program')
  })
})

describe('the environment of a command', () => {
  test('has the URL for webhooks and the secret', async () => {
    const expected = 'type:track event:Paid sig:valid x1'
    const { code, stderr } = await runModule(
      ['--expect', expected],
      `${sendSigned} await send({ event: 'Paid' })`,
    )
    expect(stderr).toMatch(
      /^Receiver {2}http:\/\/127\.0\.0\.1:\d+ {2}EVROUTE_URL, EVROUTE_SECRET\n/,
    )
    expect(stderr).toMatch(/\n1 webhook, 1 with a valid signature in \d/)
    expect(stderr).toContain(`✔ ${expected}: 1 arrived`)
    expect(code).toBe(0)
  })

  test.each<[string, readonly string[], Readonly<Record<string, string>>]>([
    ['--secret', ['--secret', 'k'], {}],
    ['EVROUTE_SECRET', [], { EVROUTE_SECRET: 'k' }],
  ])('has the secret of %s, and the rest of the environment', async (_, flags, env) => {
    const program = `process.exitCode = process.env.EVROUTE_SECRET === 'k' && process.env.SHOP === 's' ? 0 : 1`
    expect(await runModule(flags, program, { env: { SHOP: 's', ...env } })).toMatchObject({
      code: 0,
    })
  })

  test.each([
    ['EVROUTE_ENDPOINT', 'http://127.0.0.1:9'],
    ['EVROUTE_WRITE_KEY', 'wk_other'],
    ['EVROUTE_STORE', 'sqlite:other.db'],
    ['EVROUTE_ADMIN_TOKEN', 'not-a-real-token'],
  ])('does not have %s of a different service', async (name, value) => {
    const program = `process.exitCode = process.env.${name} === undefined ? 0 : 1`
    expect(await runModule([], program, { env: { [name]: value } })).toMatchObject({ code: 0 })
  })

  test('lets the command ask the receiver for its requests', async () => {
    const program = `${sendSigned}
      await send({ event: 'Paid' })
      const answer = await fetch(process.env.EVROUTE_URL + '/_evroute/events')
      process.exitCode = (await answer.text()).includes('Paid') ? 0 : 1`
    expect(await runModule([], program)).toMatchObject({ code: 0 })
  })

  test('has a new secret in every run', async () => {
    const folder = await temporaryFolder()
    const path = join(folder, 'secrets')
    const program = `(await import('node:fs')).appendFileSync(${JSON.stringify(path)}, process.env.EVROUTE_SECRET + '\\n')`
    await runModule([], program)
    await runModule([], program)
    const [one = '', other] = (await readFile(path, 'utf8')).split('\n')
    expect(one.length).toBeGreaterThan(30)
    expect(one).not.toBe(other)
  })

  test('has a service with --serve', async () => {
    const program = `
      const { EVROUTE_ENDPOINT, EVROUTE_WRITE_KEY } = process.env
      const headers = { 'x-write-key': EVROUTE_WRITE_KEY }
      const body = '{"userId":"u_1","event":"Paid"}'
      const answer = await fetch(EVROUTE_ENDPOINT + '/v1/track', { method: 'POST', headers, body })
      process.exitCode = answer.status === 200 ? 0 : 1
    `
    const { code, stderr } = await runModule(
      ['--serve', '--expect', 'event:Paid sig:valid x1', '--expect', 'type:page never'],
      program,
    )
    expect(stderr).toMatch(
      /\nService {3}http:\/\/127\.0\.0\.1:\d+ {2}EVROUTE_ENDPOINT, EVROUTE_WRITE_KEY\n/,
    )
    expect(stderr).toContain('✔ type:page never: 0 arrived')
    expect(code).toBe(0)
  })
})

describe('an expectation of run', () => {
  test('is not needed for run to wait until the service has delivered everything that it accepted', async () => {
    const program = `
      const { EVROUTE_ENDPOINT, EVROUTE_WRITE_KEY: writeKey } = process.env
      const call = { type: 'track', userId: 'u_1', event: 'Paid' }
      const body = JSON.stringify({ writeKey, batch: Array(500).fill(call) })
      await fetch(EVROUTE_ENDPOINT + '/v1/batch', { method: 'POST', body })`
    const { code, stderr } = await runModule(['--serve', '--timeout', '10m'], program)
    expect(stderr).toContain('\n500 webhooks, 500 with a valid signature in ')
    expect(code).toBe(0)
  })

  test('is checked once the command has ended, and shown with the nearest webhook if missing', async () => {
    const { code, stderr } = await runModule(
      ['--expect', 'type:track event:Paid', '--timeout', '0s'],
      `${sendSigned} await send({ event: 'Refunded' })`,
    )
    expect(stderr).toContain('✖ type:track event:Paid: expected at least 1, got 0')
    expect(stderr).toMatch(/! event +Paid +Refunded/)
    expect(code).toBe(5)
  })

  test('fails for too many requests', async () => {
    const { code } = await runModule(
      ['--expect', 'type:track x1'],
      `${sendSigned} await send({ event: 'Paid' }); await send({ event: 'Paid' })`,
    )
    expect(code).toBe(5)
  })

  test.each([
    ['2', 0, '✔ --count 2: 2 arrived'],
    ['3', 5, '✖ --count 3: expected at least 3, got 2'],
  ])('is counted with --count %s', async (count, code, message) => {
    const finished = await runModule(
      ['--count', count, '--timeout', '0s'],
      `${sendSigned}
       await send({ event: 'Paid' })
       await send({ event: 'Paid' })
       await send({ type: 'no type' })`,
    )
    expect(finished.stderr).toContain(message)
    expect(finished.code).toBe(code)
  })

  test('is not awaited once the command has failed, and does not hide that', async () => {
    const finished = await runModule(
      ['--expect', 'type:track', '--timeout', '10m'],
      'process.exitCode = 7',
    )
    expect(finished.stderr).toContain('✖ type:track: expected at least 1, got 0')
    expect(finished.code).toBe(7)
  })

  test('is awaited when the command leaves the sending to another process', async () => {
    const argv = afterItsEnd(['--expect', 'event:Paid', '--timeout', '10m'])
    expect(await run(argv, { env: { PATH } })).toMatchObject({ code: 0 })
  })

  test('is not decided while the receiver reads a webhook that may be one too many', async () => {
    const path = join(await temporaryFolder(), 'capture.ndjson')
    const flags = ['--expect', 'type:track never', '--timeout', '10m', '--save', path]
    expect(await run(whileDelayed(flags, '400ms'))).toMatchObject({ code: 5 })
    // The delayed answer is not cut short.
    const { ms } = JSON.parse(await readFile(path, 'utf8')) as { ms: number }
    expect(ms).toBeGreaterThan(390)
  })

  test('counts every webhook that has arrived when the time ends', async () => {
    const flags = ['--expect', 'type:track x1', '--timeout', '0s']
    expect(await run(whileDelayed(flags, '1h'))).toMatchObject({ code: 0 })
  })

  test('is written to reports, and to GitHub Actions', async () => {
    const folder = await temporaryFolder()
    const path = join(folder, 'report.xml')
    const summary = join(folder, 'summary.md')
    const finished = await runModule(
      ['--expect', 'type:track', '--timeout', '0s', '--report', `junit=${path}`],
      '',
      { env: { GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: summary } },
    )
    expect(finished.code).toBe(5)
    expect(await readFile(path, 'utf8')).toContain('name="evroute run"')
    expect(await readFile(summary, 'utf8')).toContain('type:track')
    expect(finished.stderr).toContain('::error')
  })
})

describe('the output of run', () => {
  const paid = `${sendSigned} await send({ event: 'Paid' })`

  test('has a line for every request with --verbose', async () => {
    const { stderr, stdout } = await runModule(['-v'], paid)
    expect(stderr).toMatch(/#1 +TRACK +u_1 +“Paid”.*signed +200/)
    expect(stdout).toBe('')
  })

  test('is empty with --quiet', async () => {
    const { code, stderr } = await runModule(['-q', '--expect', 'event:Paid'], paid)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  test('is kept in a file with --save', async () => {
    const path = join(await temporaryFolder(), 'capture.ndjson')
    await runModule(['--save', path, '--respond', '503'], paid)
    const records = (await readFile(path, 'utf8')).trim().split('\n')
    expect(records.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { v: 1, kind: 'event', type: 'track', status: 503 },
    ])
  })

  test('that cannot be saved ends the run with 7', async () => {
    const path = join(await temporaryFolder(), 'none', 'capture.ndjson')
    expect(await runModule(['--save', path], paid)).toMatchObject({ code: 7 })
  })

  test.each([
    ['cannot start', ['--', './there-is-no-such-program'], 2],
    ['cannot be recorded', ['--save', '/dev/null/capture', '--', process.execPath, '-v'], 7],
  ])('has a report that says so if the run %s', async (_, argv, end) => {
    const path = join(await temporaryFolder(), 'report.xml')
    const { code } = await run(['run', '--report', `junit=${path}`, ...argv])
    expect(code).toBe(end)
    const report = await readFile(path, 'utf8')
    expect(report).toContain('tests="1" failures="1"')
    expect(report).toContain('it did not end')
  })

  test('whose report cannot be written keeps the command from starting', async () => {
    const path = join(await temporaryFolder(), 'none', 'report.xml')
    const { code, stderr } = await runModule(['--report', `junit=${path}`], 'process.exitCode = 3')
    expect(code).toBe(7)
    expect(stderr).toMatch(/^evroute: Cannot write the report /)
  })
})

describe('the end of a run', () => {
  /** Reports to the witness that it runs, then runs until it is killed or the test ends. */
  const goOn = 'fetch(process.env.WITNESS).catch(() => undefined).finally(() => process.exit())'

  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('passes %s on to the command, and ends with %i', async (signal, code) => {
    const witness = await TestEndpoint.start('hang')
    const command = start(argvOf(['--count', '1'], goOn), { env: { WITNESS: witness.url } })
    await witness.received(1)
    command.stop(signal)
    expect(await command.ended).toMatchObject({ code })
    await witness.disconnected()
  })

  test('is 130 if the command ends with 0 after a signal, and awaits nothing', async () => {
    const witness = await TestEndpoint.start('hang')
    const program = `process.on('SIGINT', () => process.exit(0)); ${goOn}`
    const argv = argvOf(['--count', '1', '--timeout', '10m'], program)
    const command = start(argv, { env: { WITNESS: witness.url } })
    await witness.received(1)
    command.stop('SIGINT')
    expect(await command.ended).toMatchObject({ code: 130 })
  })

  test('comes at once if a signal arrives while run waits for webhooks', async () => {
    const argv = afterItsEnd(['--count', '2', '--timeout', '10m', '-v'])
    const command = start(argv, { env: { PATH } })
    await command.stderr.matching(/#1/)
    command.stop('SIGTERM')
    expect(await command.ended).toMatchObject({ code: 130 })
  })

  test('reaches the command, too, when the terminal is closed', async () => {
    const witness = await TestEndpoint.start('hang')
    const command = start(argvOf([], goOn), { env: { WITNESS: witness.url } })
    await witness.received(1)
    await command.hangUp()
    expect(await command.ended).toMatchObject({ code: 129 })
  })

  test('reaches the processes that the command left behind', async () => {
    const witness = await TestEndpoint.start('hang')
    const background = `process.on('SIGTERM', () => undefined); ${goOn}`
    const foreground = `
      const { spawn } = await import('node:child_process')
      spawn(process.execPath, ['-e', ${JSON.stringify(background)}], { stdio: 'ignore' }).unref()
      await fetch(process.env.READY)
    `
    const ready = await TestEndpoint.start(() => ({ status: 200, after: witness.received(1) }))
    const command = start(argvOf([], foreground), {
      env: { WITNESS: witness.url, READY: ready.url },
    })
    expect(await command.ended).toMatchObject({ code: 0 })
    await witness.disconnected()
  })

  test('leaves no port behind', async () => {
    const { stderr } = await runModule(['--serve'], '')
    const urls = stderr.match(/http:\/\/127\.0\.0\.1:\d+/g) ?? []
    expect(urls).toHaveLength(2)
    for (const url of urls) await expect(fetch(url)).rejects.toThrow('fetch failed')
  })
})
