import { describe, expect, test } from 'vitest'
import { EvrouteError, evrouteVersion } from '../../src/model/index.ts'
import { importedBy, roomsOf, sourceOf } from '../support/imports.ts'
import { run, start, type RunSettings } from '../support/io.ts'

const escape = '\u001b['

describe('main', () => {
  test('without arguments, shows help on stderr and ends with 2', async () => {
    const { code, stdout, stderr } = await run([])
    expect(code).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).toContain('Usage: evroute')
    expect(stderr).toContain('Try `evroute demo`.')
  })

  test.each([['--help'], ['help'], ['send', '--help'], ['help', 'listen']])(
    'prints %s %s on stdout and ends with 0',
    async (...argv) => {
      const { code, stdout, stderr } = await run(argv)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toMatch(/^Usage: evroute/)
      expect(stdout).not.toContain(escape)
    },
  )

  test('fits help to the terminal', async () => {
    const { stdout } = await run(['send', '--help'], { isTTY: true, columns: 60 })
    const [description] = stdout.split('\nArguments:')
    const widths = description!.split('\n').map((line) => line.length)
    expect(Math.max(...widths)).toBeLessThanOrEqual(60)
    expect(Math.max(...widths)).toBeGreaterThan(50)
  })

  test('prints its version', async () => {
    expect(await run(['--version'])).toMatchObject({ code: 0, stdout: `${evrouteVersion}\n` })
  })

  test.each([
    ['lsten', 'Cannot run `evroute lsten`: there is no such command. Did you mean listen?'],
    [
      'config a --config x c',
      'Cannot run `evroute config`: too many arguments: "a" "c". See `evroute config --help`.',
    ],
    [
      'send track --evnt x',
      'Cannot run `evroute send`: there is no option --evnt. Did you mean --event?',
    ],
    [
      'completion tcsh',
      'Cannot run `evroute completion`: <shell> cannot be "tcsh". Allowed choices are bash, zsh, fish, powershell.',
    ],
    [
      'completion',
      'Cannot run `evroute completion`: <shell> is missing. Try `evroute completion bash`.',
    ],
    [
      'explain',
      'Cannot run `evroute explain`: <file> is missing. Try `evroute explain call.json`.',
    ],
    ['view', 'Cannot run `evroute view`: <file> is missing. Try `evroute view capture.ndjson`.'],
    [
      'audience sync --name VIP',
      'Cannot run `evroute audience sync`: --file <path> is missing. ' +
        'Try `evroute audience sync --name "First-Time Shopper" --file shoppers.csv`.',
    ],
    [
      'audience',
      'Cannot run `evroute audience`: a command is missing. Its commands are sync, list, show, remove.',
    ],
    [
      'send --count x',
      'Cannot run `evroute send`: --count cannot be "x". It must be a whole number from 1 to 1000000.',
    ],
    [
      'send --count',
      'Cannot run `evroute send`: --count needs a value. See `evroute send --help`.',
    ],
    ['send -v -q', 'Cannot use --verbose together with --quiet. See `evroute send --help`.'],
    ['--colour', 'Cannot run `evroute`: there is no option --colour. See `evroute --help`.'],
    ['-v', 'Cannot run `evroute`: there is no option -v. Did you mean -V, --version?'],
    [
      'help nothing',
      'Cannot show help for "nothing": there is no such command. See `evroute --help`.',
    ],
    [
      'deliveries --api http://127.0.0.1:1 retry',
      'Cannot run `evroute deliveries retry`: flags stand before the command. ' +
        'Put the command first: `evroute deliveries retry --api ...`.',
    ],
    [
      'deliveries --api=http://127.0.0.1:1 show 3',
      'Cannot run `evroute deliveries show`: flags stand before the command. ' +
        'Put the command first: `evroute deliveries show --api ...`.',
    ],
    [
      'deliveries --all retry',
      'Cannot run `evroute deliveries`: there is no option --all. ' +
        'Put the command first: `evroute deliveries retry --all ...`.',
    ],
    [
      'deliveries --user-id show retri',
      'Cannot run `evroute deliveries retri`: there is no such command. ' +
        'Its commands are list, show, retry, discard.',
    ],
    [
      'deliveries help nothing',
      'Cannot show help for "nothing": there is no such command. See `evroute deliveries --help`.',
    ],
  ])('ends `evroute %s` with 2 and says what to do', async (line, message) => {
    expect(await run(line.split(' '))).toMatchObject({
      code: 2,
      stdout: '',
      stderr: `evroute: ${message}\n`,
    })
  })

  test.each([
    ['send track --event --secret', '--event', '--secret'],
    ['send track --event --secret s3cret', '--event', '--secret'],
    ['--no-color send track --event --secret=s3cret', '--event', '--secret=s3cret'],
    ['send track --user-id -n', '--user-id', '-n'],
    ['send track --event --help', '--event', '--help'],
    ['deliveries --state --limit 5', '--state', '--limit'],
    ['deliveries list --state --limit 5', '--state', '--limit'],
    ['run --secret -- npm test', '--secret', '--'],
  ])('does not take the next option for the value in `evroute %s`', async (line, flag, next) => {
    const { code, stdout, stderr } = await run(line.split(' '))
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(
      `: ${flag} needs a value. If ${next} is the value, write ${flag}=${next}.`,
    )
  })

  test.each([
    ['--event=--secret', '--secret'],
    ['--event --not-an-option', '--not-an-option'],
    ['--event - --user-id u_1', '-'],
  ])('takes a value that begins with a dash in %s', async (flags, event) => {
    const { records } = await run(['send', 'track', '--dry-run', '--json', ...flags.split(' ')])
    expect(JSON.parse(records[0]?.['body'] as string)).toMatchObject({ event })
  })

  test('prints an error in JSON mode as one object on stderr', async () => {
    const { code, stdout, stderr } = await run(['send', 'trakc', '--json'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(JSON.parse(stderr)).toEqual({
      error: {
        code: 'invalid_usage',
        message: 'Cannot send "trakc": it is not a type of call',
        hint: expect.stringContaining('identify, track, page') as string,
      },
    })
    expect(stderr).toMatch(/^[^\n]*\n$/)
  })

  test.each([
    [['replay'], 'Cannot run `npx evroute replay`: <file> is missing. Try `npx evroute replay '],
    [['send'], 'Try `npx evroute send track`, or `npx evroute send --file calls.ndjson`.'],
    [['replay', '--json'], '"hint":"Try `npx evroute replay '],
  ])('suggests commands with npx if npx started %j', async (argv, text) => {
    const { stderr } = await run(argv, { env: { npm_command: 'exec' } })
    expect(stderr).toContain(text)
    expect(stderr).not.toContain('`evroute')
  })

  test('suggests commands with npx if npx started the transfer', async () => {
    const argv = ['send', 'track', '--to', 'http://127.0.0.1:1/', '--clock', 'virtual']
    const { stderr } = await run(argv, { env: { npm_command: 'exec' } })
    expect(stderr).toContain('Is `npx evroute listen` running?')
  })

  test('prints a usage error of the parser as JSON, too', async () => {
    const { stderr } = await run(['send', '--json', '--evnt'])
    expect(JSON.parse(stderr)).toEqual({
      error: {
        code: 'invalid_usage',
        message: 'Cannot run `evroute send`: there is no option --evnt',
        hint: 'Did you mean --event?',
      },
    })
  })

  test('asks for a bug report after an unexpected error, and ends with 1', async () => {
    const stdin: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new TypeError('worn out')) }),
    }
    const { code, stderr } = await run(['explain', '-', '--json'], { stdin })
    expect(code).toBe(1)
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'internal' } })
    expect(stderr).toContain('worn out')
  })

  test('shows help if the only argument is --no-color', async () => {
    const { code, stderr } = await run(['--no-color'])
    expect(code).toBe(2)
    expect(stderr).toContain('Try `evroute demo`.')
  })

  test.each([
    'send',
    'replay',
    'deliveries',
    'audit',
    'explain',
    'listen',
    'demo',
    'sign',
    'verify',
    'completion',
  ])('knows --no-color for %s', async (name) => {
    expect((await run([name, '--help'])).stdout).toContain('--no-color')
  })

  test('accepts --no-color before the command, too', async () => {
    const { stdout } = await run(['--no-color', 'send', 'track', '-n'], { isTTY: true })
    expect(stdout).toContain('TRACK')
    expect(stdout).not.toContain(escape)
  })

  test('loads no command line to print the version', async () => {
    const loaded = [...(await importedBy('cli/main.ts', 'cli/io.ts'))]
    expect(loaded.filter((name) => !name.startsWith('node:') && !name.includes('/model/'))).toEqual(
      ['cli/main.ts', 'cli/exit-code.ts', 'cli/io.ts'].map((name) => sourceOf(name).href),
    )
  })

  test('loads no module that listens, sends, stores or colours for a dry run', async () => {
    const loaded = [...(await importedBy('cli/program.ts', 'cli/commands/send.ts'))].sort()
    expect(loaded.filter((name) => !name.startsWith('file:'))).toEqual([
      'commander',
      'node:buffer',
      'node:crypto',
      'node:events',
      'node:fs',
      'node:fs/promises',
      'node:module',
      'node:os',
      'node:timers',
      'node:timers/promises',
      'node:url',
      'node:util',
    ])
    expect(roomsOf(loaded)).toEqual([
      'cli',
      'client',
      'importer',
      'intake',
      'model',
      'router',
      'runtime',
      'threads',
      'webhook',
    ])
  })

  test('loads only the parts of undici that send requests', async () => {
    const loaded = [...(await importedBy('webhook/connections.ts'))]
    expect(loaded.filter((name) => name.startsWith('undici')).sort()).toEqual([
      'undici/lib/core/connect.js',
      'undici/lib/core/errors.js',
      'undici/lib/dispatcher/pool.js',
    ])
  })

  test('ends with 7 when the output could not be written', async () => {
    const command = start(['send', 'track', '-n', '--count', '5000'])
    await command.stdout.matching(/TRACK/)
    command.stop(
      new EvrouteError({ code: 'cannot_write_file', message: 'Cannot write the output' }),
    )
    const { code, stderr } = await command.ended
    expect(code).toBe(7)
    expect(stderr).toMatch(/evroute: Cannot write the output\n$/)
  })

  test.each<RunSettings & { given: string; flags?: string[]; coloured: boolean }>([
    { given: 'no terminal', coloured: false },
    { given: 'a terminal', isTTY: true, coloured: true },
    { given: 'a terminal and NO_COLOR', isTTY: true, env: { NO_COLOR: '1' }, coloured: false },
    {
      given: 'a terminal and an empty NO_COLOR',
      isTTY: true,
      env: { NO_COLOR: '' },
      coloured: true,
    },
    { given: 'a terminal and --no-color', isTTY: true, flags: ['--no-color'], coloured: false },
    { given: 'a dumb terminal', isTTY: true, env: { TERM: 'dumb' }, coloured: false },
    { given: 'no terminal and FORCE_COLOR', env: { FORCE_COLOR: '1' }, coloured: true },
    {
      given: 'a terminal and FORCE_COLOR=0',
      isTTY: true,
      env: { FORCE_COLOR: '0' },
      coloured: false,
    },
    { given: 'both variables', env: { NO_COLOR: '1', FORCE_COLOR: '1' }, coloured: false },
  ])('uses colour or not with $given', async ({ flags = [], coloured, ...settings }) => {
    const { stderr } = await run(['send', 'trakc', ...flags], settings)
    expect(stderr.includes(escape)).toBe(coloured)
    const planned = await run(['send', 'track', '--dry-run', ...flags], settings)
    expect(planned.stdout.includes(escape)).toBe(coloured)
    expect(planned.stderr.includes(escape)).toBe(coloured)
  })
})
