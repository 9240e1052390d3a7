import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { expect, test } from 'vitest'
import { startBinary } from '../support/binary.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test.each([
  { signals: ['SIGQUIT'], code: 131 },
  { signals: ['SIGINT', 'SIGTERM'], code: 130 },
] as const)('listen leaves nothing behind after $signals', async ({ signals, code }) => {
  const TMPDIR = await temporaryFolder()
  const witness = await TestEndpoint.start('hang')
  const program = `
    process.on('SIGTERM', () => undefined)
    fetch('${witness.url}').catch(() => undefined).finally(() => process.exit())`
  const flags = ['--port', '0', '--json', '--tls', 'valid', '--on-event', process.execPath]
  // Node would keep its compile cache there.
  const env = { TMPDIR, NODE_DISABLE_COMPILE_CACHE: '1' }
  const command = startBinary(['listen', ...flags, '--', '-e', program], env)
  const { url, ca } = (await command.stdout.record('ready')) as { url: string; ca: string }
  const dispatcher = new Agent({ connect: { ca: await readFile(ca, 'utf8') } })
  const body = '{"type":"track","userId":"u_1","event":"Order Completed"}'
  await (await request(url, { method: 'POST', body, dispatcher })).body.dump()
  await dispatcher.close()
  await witness.received(1)
  for (const signal of signals) command.signal(signal)
  expect(await command.ended).toMatchObject({ code })
  await witness.disconnected()
  expect(await readdir(TMPDIR)).toEqual([])
})

test('listen ignores SIGHUP if it has no terminal, as under nohup', async () => {
  const command = startBinary(['listen', '--port', '0', '--json'])
  await command.stdout.record('ready')
  command.signal('SIGHUP')
  command.signal('SIGTERM')
  expect(await command.ended).toMatchObject({ code: 0 })
})

test.each(['SIGINT', 'SIGTERM'] as const)(
  'a %s after the end of a command does not change its exit code',
  async (signal) => {
    const slowExit = join(await temporaryFolder(), 'slow-exit.cjs')
    // Like a thread that ends slowly, it keeps the process alive. It says when the command has ended.
    await writeFile(
      slowExit,
      `setInterval(() => process.exitCode === 0 && console.log('{"v":1,"kind":"ended"}'), 10)`,
    )
    const command = startBinary(['check', '--list', '--json'], {
      NODE_OPTIONS: `--require ${slowExit}`,
    })
    await command.stdout.record('ended')
    command.signal(signal)
    expect(await command.ended).toMatchObject({ code: 0, signal: null })
  },
)
