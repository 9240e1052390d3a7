import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { open, readdir, readFile, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { binaryPath, runBinary, startBinary, TestProcess } from '../support/binary.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { fixture } from '../support/fixtures.ts'
import { silentServer } from '../support/silent-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const calls = fixture('calls.ndjson')
const secret = ['--secret', 'not-a-real-secret']
const verified = [...secret, '--signature', 'f'.repeat(40)]
const deletion = ['--regulation', 'DELETE_ONLY']

/** Commands that print and end. URL stands for an endpoint, FOLDER for an empty folder. */
const printing: readonly (readonly string[])[] = [
  ['--help'],
  ['demo'],
  ['demo', '--json'],
  ['send', 'track', '-n', '--json'],
  ['send', '--file', calls, '--to', 'URL', '--json'],
  ['check', 'URL', ...secret],
  ['check', '--list'],
  ['replay', calls, '--to', 'URL', '--json'],
  ['run', '--', process.execPath, '-e', 'console.log(1)'],
  ['init', '--config', 'FOLDER/evroute.config.json'],
  ['config'],
  ['deliveries', '--json'],
  ['deliveries', 'show', 'm_1', '--json'],
  ['deliveries', 'retry', '--all', '--json'],
  ['audit'],
  ['audience', 'list', '--json'],
  ['audience', 'sync', '--name', 'VIP', '--file', 'users.csv', '--dry-run'],
  ['delete', '--dry-run', '--json', '--user-id', 'u_1', ...deletion],
  ['regulations', 'list', '--json'],
  ['backup', 'FOLDER/backup.db'],
  ['migrate', '--from', 'sqlite:evroute.db', '--to', 'POSTGRES', '--dry-run'],
  ['expect', 'type:track', '--in', 'capture.ndjson', '--json'],
  ['explain', calls],
  ['sign', ...secret, calls],
  ['verify', ...verified, calls],
  ['completion', 'bash'],
]

/** Their exit codes if no output is read; 0 for all others. */
const codes: Readonly<Record<string, unknown>> = {
  ...{ expect: 5, verify: 6, migrate: 7, check: 130, 'check --list': 0 },
  // 0 if everything is delivered before the first record cannot be written.
  ...{ send: expect.toBeOneOf([0, 130]), replay: expect.toBeOneOf([0, 130]) },
}

/** Commands that read an endless stdin. */
const reading: readonly (readonly string[])[] = [
  ['send', '-f', '-', '-n'],
  ['replay', '-', '--to', 'URL'],
  ['audience', 'sync', '--name', 'VIP', '--file', '-', '--dry-run'],
  ['delete', '--file', '-', ...deletion],
  ['expect', 'type:track', '--in', '-'],
  ['explain', '-'],
  ['sign', ...secret],
  ['verify', ...verified],
  ['view', '-'],
]

/** Commands that wait for a server that never answers. */
const asking: readonly (readonly string[])[] = [
  ['send', 'track', '--to', 'URL'],
  ['replay', calls, '--to', 'URL'],
  ['check', 'URL', ...secret],
  ['deliveries', '--api', 'URL'],
  ['audit', '--api', 'URL'],
  ['audience', 'list', '--api', 'URL'],
  ['delete', '--dry-run', '--user-id', 'u_1', ...deletion, '--api', 'URL'],
  ['regulations', 'list', '--api', 'URL'],
  ['expect', 'type:track', '--api', 'URL'],
]

/** Commands that run until they are interrupted, and their exit codes then. */
const lasting: readonly { readonly argv: readonly string[]; readonly code: number }[] = [
  { argv: ['listen', '--port', '0'], code: 0 },
  { argv: ['view', 'capture.ndjson'], code: 0 },
  { argv: ['serve'], code: 0 },
  {
    argv: ['run', '--', process.execPath, '-e', 'console.error(1);setInterval(String,1e6)'],
    code: 130,
  },
]

/** Commands that wait for nothing, or up to 10 s for a database. */
const brief: readonly string[] = [
  'backup',
  'completion',
  'config',
  'demo',
  'help',
  'init',
  'migrate',
]

/** A folder with a configuration, a store with a delivery, and files. Commands run in it. */
async function prepare() {
  const folder = await temporaryFolder()
  const store = `sqlite:${join(folder, 'evroute.db')}`
  const call = '{"type":"track","messageId":"m_1","userId":"u_1","event":"Paid"}\n'
  await writeFile(join(folder, 'users.csv'), 'userId\nu_1\n')
  await writeFile(join(folder, 'capture.ndjson'), '')
  const { url } = await TestEndpoint.start()
  const send = startIn(folder, ['send', '--file', '-', '--to', url, '--store', store])
  send.stdin.end(call)
  expect(await send.ended).toMatchObject({ code: 0 })
  expect(await startIn(folder, ['init']).ended).toMatchObject({ code: 0 })
  const path = join(folder, 'evroute.config.json')
  const configuration = await readFile(path, 'utf8')
  // Other tests use the default ports.
  await writeFile(path, configuration.replaceAll(/"port": \d+/g, '"port": 0'))
  return { folder, store, url }
}

/** Runs the command in a folder, by a shell script that gets it as its arguments. */
function startIn(
  folder: string,
  argv: readonly string[],
  { env = {}, script = 'exec "$@"' }: { env?: Record<string, string>; script?: string } = {},
): TestProcess {
  const command = [process.execPath, binaryPath, ...argv]
  return new TestProcess('sh', ['-c', `cd "$0" && ${script}`, folder, ...command], env)
}

function filled(argv: readonly string[], values: Readonly<Record<string, string>>): string[] {
  return argv.map((text) => text.replace(/[A-Z]{3,}/g, (name) => values[name] ?? name))
}

/** The end of a command, and its error messages. */
async function endOf(command: TestProcess, argv: readonly string[]) {
  const { code, stderr } = await command.ended
  const noise = /EPIPE|Error|bug|fault|^ +at /m.test(stderr) ? stderr : ''
  return { argv: argv.join(' '), code, noise }
}

const quietly =
  (code: unknown) =>
  (argv: readonly string[]): object => ({ argv: argv.join(' '), code, noise: '' })

/** Prints only answers to its client. `mcp.test.ts` tests how it ends. */
const answering = ['mcp']

test('this file tests every command', async () => {
  const { stdout } = await runBinary(['complete', '--', ''])
  const commands = stdout.split('\n').flatMap((line) => /^(\w+)\t/.exec(line)?.[1] ?? [])
  expect(commands.length).toBeGreaterThan(20)
  const namesOf = (table: readonly (readonly string[])[]) => table.map(([name = '']) => name)
  const ends = namesOf(lasting.map(({ argv }) => argv))
  const interrupted = [...brief, ...answering, ...namesOf(reading), ...namesOf(asking), ...ends]
  expect(commands.filter((name) => !interrupted.includes(name))).toEqual([])
  const printed = ['help', ...answering, ...namesOf(printing), ...ends]
  expect(commands.filter((name) => !printed.includes(name))).toEqual([])
})

test('every command that prints ends quietly when its output is closed', async () => {
  const { folder, store, url } = await prepare()
  const values = { URL: url, FOLDER: await temporaryFolder(), POSTGRES: 'postgres://127.0.0.1:9/x' }
  const ends = printing.map(async (argv, index) => {
    const script = `{ "$@"; echo $? > code-${index}; } | :`
    const env = { EVROUTE_STORE: store }
    const end = await endOf(startIn(folder, filled(argv, values), { env, script }), argv)
    return { ...end, code: Number(await readFile(join(folder, `code-${index}`), 'utf8')) }
  })
  expect(await Promise.all(ends)).toEqual(
    printing.map((argv) => quietly(codes[argv.join(' ')] ?? codes[argv[0] ?? ''] ?? 0)(argv)),
  )
})

test('Ctrl-C ends every command that reads its input', async () => {
  const { folder, store, url } = await prepare()
  const ends = reading.map(async (argv) => {
    const command = startIn(folder, filled(argv, { URL: url }), { env: { EVROUTE_STORE: store } })
    // More than fits into a pipe, so the command must be reading once all of it is written.
    command.stdin.write(Buffer.alloc(1024 * 1024, '\n'))
    await once(command.stdin, 'drain')
    command.signal('SIGINT')
    return endOf(command, argv)
  })
  expect(await Promise.all(ends)).toEqual(reading.map(quietly(130)))
})

test.skipIf(process.platform === 'win32')('Ctrl-C ends a command that reads a pipe', async () => {
  const pipe = join(await temporaryFolder(), 'pipe')
  execFileSync('mkfifo', [pipe])
  const command = startBinary(['send', '--file', pipe, '--dry-run'])
  const writer = await open(pipe, 'w')
  onTestFinished(() => writer.close())
  await writer.write(await readFile(calls))
  await command.stdout.matching(/would be sent/)
  command.signal('SIGINT')
  expect(await command.ended).toMatchObject({ code: 130, signal: null })
})

test.runIf(process.platform === 'linux').each([
  ['send', '--dry-run', '--file', 'PIPE'],
  ['sign', calls, '--secret', '@PIPE'],
])('Ctrl-C ends %s if its pipe has no writer', async (...argv) => {
  const pipe = join(await temporaryFolder(), 'pipe')
  execFileSync('mkfifo', [pipe])
  const command = startBinary(filled(argv, { PIPE: pipe }))
  const files = `/proc/${command.pid}/fd`
  const openFiles = async (): Promise<readonly string[]> => {
    const names = await readdir(files)
    return Promise.all(names.map((name) => readlink(join(files, name)).catch(() => '')))
  }
  await expect.poll(openFiles).toContain(pipe)
  command.signal('SIGINT')
  expect(await command.ended).toMatchObject({ code: 130, signal: null })
})

test.runIf(process.platform === 'linux')('init ends in a folder that takes no files', async () => {
  const { code, stderr } = await runBinary(['init', '--config', '/proc/x/evroute.config.json'])
  expect(stderr).toContain('Cannot write /proc/x/evroute.secrets/.gitignore: ')
  expect(code).toBe(7)
})

test.runIf(process.platform === 'linux')('a command says that its folder was deleted', async () => {
  const folder = await temporaryFolder()
  const script = 'rmdir "$0" && exec "$@"'
  const { code, stderr } = await startIn(folder, ['run', '--', 'true'], { script }).ended
  expect(stderr).toBe(
    'evroute: Cannot read the current folder: it does not exist any more. Change to a different folder.\n',
  )
  expect(code).toBe(7)
})

test('Ctrl-C ends every command that waits for an answer', async () => {
  const { folder } = await prepare()
  const ends = asking.map(async (argv) => {
    const { requested, port } = await silentServer()
    const env = { EVROUTE_ADMIN_TOKEN: 'not-a-real-token' }
    const command = startIn(folder, filled(argv, { URL: `http://127.0.0.1:${port}` }), { env })
    await Promise.race([requested, command.ended])
    command.signal('SIGINT')
    return endOf(command, argv)
  })
  expect(await Promise.all(ends)).toEqual(asking.map(quietly(130)))
})

test.each(lasting)('Ctrl-C ends $argv.0 with $code', async ({ argv, code }) => {
  const { folder } = await prepare()
  const command = startIn(folder, argv)
  await command.stderr.matching(/Ctrl-C|serving|^1$/m)
  command.signal('SIGINT')
  expect(await endOf(command, argv)).toEqual(quietly(code)(argv))
})
