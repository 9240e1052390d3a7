import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { binaryPath, runBinary, startBinary, TestProcess } from '../support/binary.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { fixture } from '../support/fixtures.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const calls = fixture('calls.ndjson')

describe('the streams', () => {
  test('keep data apart: records on stdout, problems on stderr', async () => {
    const endpoint = await TestEndpoint.start()
    const bad = fixture('bad/broken-json.ndjson')
    const json = await runBinary(['send', '-f', bad, '--json', '--to', endpoint.url])
    expect(json.stderr).toBe('')
    expect(json.records.map(({ v }) => v)).toEqual(json.records.map(() => 1))
    const text = await runBinary(['send', '-f', bad, '--to', endpoint.url])
    expect(text.stdout).toBe('')
    expect(text.stderr.match(/^line \d+: /gm)).toHaveLength(3)
  })

  test('have no escape codes without a terminal', async () => {
    const endpoint = await TestEndpoint.start([404, 200])
    const sent = await runBinary(['send', '-f', calls, '-v', '--to', endpoint.url])
    const planned = await runBinary(['send', 'track', '-n'])
    const refused = await runBinary(['send', '--evnt'])
    for (const { stdout, stderr } of [sent, planned, refused]) {
      expect(stdout + stderr).not.toContain('\u001b')
    }
  })

  test('log the work of the client with DEBUG=analytics', async () => {
    const endpoint = await TestEndpoint.start()
    const argv = ['send', 'track', '-q', '--json', '--to', endpoint.url]
    const debug = await runBinary(argv, { DEBUG: 'analytics' })
    expect(debug.stderr).toContain('analytics debug sending a batch calls=1')
    expect(debug.records).toHaveLength(3)
    expect(await runBinary(argv)).toMatchObject({ stderr: '' })
  })

  test.each([[['help']], [['help', 'send']], [['deliveries', 'help', 'list']]])(
    'have help on stdout and no error for %j',
    async (argv) => {
      const { code, stdout, stderr } = await runBinary(argv)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toMatch(/^Usage: evroute/)
    },
  )

  test.each([
    { name: 'send --dry-run', argv: ['send', '-f', calls, '-n', '--json'] },
    { name: 'send --dry-run for a person', argv: ['send', '-f', calls, '-n'] },
    { name: 'demo', argv: ['demo', '--json'] },
    { name: 'help', argv: ['send', '--help'] },
  ])('end quietly with 0 when the reader of $name leaves', async ({ argv }) => {
    const command = startBinary(argv)
    await command.stdout.matching(/\n/)
    command.closeStdout()
    const { code, signal, stderr } = await command.ended
    expect({ code, signal }).toEqual({ code: 0, signal: null })
    expect(stderr).not.toMatch(/EPIPE|Error|^ +at /m)
  })

  test('that never end do not make a command look successful', async () => {
    const silent = join(await temporaryFolder(), 'silent.cjs')
    await writeFile(
      silent,
      `const { PassThrough } = require('node:stream')
      Object.defineProperty(process, 'stdin', { value: new PassThrough() })`,
    )
    const argv = ['--require', silent, binaryPath, 'send', '--dry-run', '--file', '-']
    const command = new TestProcess(process.execPath, argv, {})
    expect(await command.ended).toMatchObject({ code: 1, stdout: '' })
  })

  test.each([['--version'], ['send', 'track', '--dry-run', '--json', '--count', '5000']])(
    'report why the output of %s cannot be written, and end with 7',
    async (...argv) => {
      const script = 'exec "$0" "$@" > /dev/full'
      const command = new TestProcess(
        'sh',
        ['-c', script, process.execPath, binaryPath, ...argv],
        {},
      )
      const { code, stderr } = await command.ended
      expect(code).toBe(7)
      expect(stderr).toContain('Cannot write the output: ENOSPC')
      expect(stderr).not.toMatch(/^ +at /m)
    },
  )

  test('of a transfer do not wait for more input when the reader leaves', async () => {
    const endpoint = await TestEndpoint.start(({ body }) => (body.length > 0 ? 200 : 500))
    const command = startBinary([
      'send',
      '-f',
      '-',
      '--json',
      '--flush-at',
      '1',
      '--to',
      endpoint.url,
    ])
    command.stdin.write('{"type":"track","userId":"u_1","event":"E"}\n')
    await command.stdout.record('delivery')
    command.closeStdout()
    command.stdin.write('{"type":"track","userId":"u_1","event":"E"}\n')
    const { code, stderr } = await command.ended
    expect(code).toBe(130)
    expect(stderr).toMatch(/^Interrupted: .*Pass --store/)
  })
})

describe('a signal', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)(
    '%s ends a transfer with 130 and says what happened',
    async (signal) => {
      const endpoint = await TestEndpoint.start('hang')
      const command = startBinary(['send', '-f', calls, '--to', endpoint.url])
      await endpoint.received(10)
      command.signal(signal)
      const { code, stderr } = await command.ended
      expect(code).toBe(130)
      expect(stderr).toMatch(
        /\nInterrupted: [\d,]+ of [\d,]+ deliveries pending\. The pending deliveries are lost\. .*\n$/,
      )
      expect(stderr).toMatch(/^[\d,]+ read = .* 0 delivered \+ [\d,]+ pending/m)
    },
  )

  test('ends a transfer that waits for a retry', async () => {
    const endpoint = await TestEndpoint.start(503)
    const command = startBinary(['send', 'track', '--to', endpoint.url])
    await command.stderr.matching(/Retrying for/)
    command.signal('SIGINT')
    expect(await command.ended).toMatchObject({ code: 130 })
  })

  test('ends a transfer that waits for input', async () => {
    const endpoint = await TestEndpoint.start()
    const command = startBinary([
      'send',
      '-f',
      '-',
      '--json',
      '--flush-at',
      '1',
      '--to',
      endpoint.url,
    ])
    command.stdin.write('{"type":"track","userId":"u_1","event":"E"}\n')
    await command.stdout.record('delivery')
    command.signal('SIGINT')
    const { code, records } = await command.ended
    expect(code).toBe(130)
    expect(records.at(-1)).toMatchObject({ kind: 'summary', read: 1, delivered: 1 })
  })

  test.each([['sign'], ['verify', '--signature', 'f'.repeat(40)]])(
    'ends %s, which waits for input',
    async (...argv) => {
      const command = startBinary([...argv, '--secret', 'k'])
      // More than fits into a pipe, so the command must be reading once all of it is written.
      command.stdin.write(Buffer.alloc(1024 * 1024))
      await once(command.stdin, 'drain')
      command.signal('SIGINT')
      expect(await command.ended).toMatchObject({ code: 130, stdout: '', stderr: '' })
    },
  )

  test('ends a dry run of a million samples', async () => {
    const command = startBinary(['send', 'track', '--count', '1000000', '--dry-run', '--json'])
    await command.stdout.record('plan')
    command.signal('SIGINT')
    expect(await command.ended).toMatchObject({ code: 130 })
  })

  test('that comes second ends the command at once', async () => {
    const endpoint = await TestEndpoint.start('hang')
    const command = startBinary(['send', 'track', '--to', endpoint.url])
    await endpoint.received(1)
    command.signal('SIGTERM')
    command.signal('SIGINT')
    expect(await command.ended).toMatchObject({ code: 130, stdout: '', stderr: '' })
  })

  test.each(['SIGINT', 'SIGTERM'] as const)('%s ends listen with 0', async (signal) => {
    const command = startBinary(['listen', '--port', '0', '--json'])
    await command.stdout.record('ready')
    command.signal(signal)
    const { code, records } = await command.ended
    expect(code).toBe(0)
    expect(records.map(({ kind }) => kind)).toEqual(['ready', 'summary'])
  })
})

describe('completion', () => {
  test.each(['bash', 'zsh', 'fish', 'powershell'])('prints a script for %s', async (shell) => {
    const { code, stdout, stderr } = await runBinary(['completion', shell])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('evroute')
    expect(stdout.split('\n').length).toBeGreaterThan(20)
  })

  test('suggests commands and flags', async () => {
    const flags = await runBinary(['complete', '--', 'send', '--'])
    expect(flags.code).toBe(0)
    const names = flags.stdout.split('\n').map((line) => line.split('\t')[0])
    expect(names).toEqual(expect.arrayContaining(['--to', '--secret', '--dry-run', '--file']))
    const commands = await runBinary(['complete', '--', ''])
    for (const name of [
      'demo',
      'send',
      'listen',
      'replay',
      'deliveries',
      'audit',
      'sign',
      'verify',
    ]) {
      expect(commands.stdout).toMatch(new RegExp(`^${name}\\t`, 'm'))
    }
    expect(commands.stdout).not.toMatch(/^complete\t/m)
  })
})
