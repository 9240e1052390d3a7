import { execFileSync } from 'node:child_process'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runBinary, startBinary } from '../support/binary.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const node = process.execPath

describe('the streams of a command', () => {
  test('are those of run, and the command gets all arguments after --', async () => {
    const program = 'process.stdin.pipe(process.stdout); console.log(process.argv.slice(1).join())'
    const argv = ['--', node, '-e', program, '--', '--json', '--no-color', '--help']
    const command = startBinary(['run', '-q', ...argv])
    await command.stdout.matching(/--json,--no-color,--help\n/)
    // Written only now, so that the command first waits for input.
    command.stdin.end('from the outside\n')
    const { code, stdout, stderr } = await command.ended
    expect(stdout).toBe('--json,--no-color,--help\nfrom the outside\n')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  test('lose nothing of a large output', async () => {
    const lines = 200_000
    const program = `seq 1 ${lines}; echo problem >&2`
    const { code, stdout, stderr } = await runBinary(['run', '-q', '--', 'sh', '-c', program])
    expect(stdout.split('\n')).toHaveLength(lines + 1)
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'problem\n' })
  })
})

test.skipIf(process.platform !== 'linux')(
  'Ctrl-Z also stops the command, and SIGCONT continues it',
  async () => {
    const program = 'console.log(process.pid); setInterval(() => console.log("tick"), 5)'
    const command = startBinary(['run', '--', node, '-e', program])
    const [, pid = ''] = await command.stdout.matching(/^(\d+)\n/)
    command.signal('SIGTSTP')
    const stateOf = async () => (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.[0]
    await expect.poll(stateOf).toBe('T')
    command.stdout.text = ''
    command.signal('SIGCONT')
    await command.stdout.matching(/tick/)
    command.signal('SIGTERM')
    expect(await command.ended).toMatchObject({ code: 143 })
  },
)

test.runIf(process.platform === 'linux')('a SIGHUP before the command starts ends it', async () => {
  const pipe = join(await temporaryFolder(), 'pipe')
  execFileSync('mkfifo', [pipe])
  const command = startBinary(['run', '--secret', `@${pipe}`, '--', 'cat'])
  const writer = await open(pipe, 'w')
  command.signal('SIGHUP')
  await writer.write('not-a-real-secret')
  await writer.close()
  expect(await command.ended).toMatchObject({ code: 129 })
})

test.skipIf(process.platform === 'win32')(
  'a SIGHUP that the command sends as soon as it starts ends it',
  async () => {
    const command = startBinary(['run', '--', 'sh', '-c', 'kill -HUP $PPID; exec cat'])
    expect(await command.ended).toMatchObject({ code: 129 })
  },
)

describe('a second signal', () => {
  test('kills the command and everything that it started, and ends run with 130', async () => {
    const witness = await TestEndpoint.start('hang')
    const endless = `
      process.on('SIGTERM', () => console.log('asked'))
      process.on('SIGINT', () => console.log('asked'))
      fetch('${witness.url}').catch(() => undefined).finally(() => process.exit())`
    const both = `
      require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(endless)}])
      ${endless}`
    const command = startBinary(['run', '--', node, '-e', both])
    await witness.received(2)
    command.signal('SIGTERM')
    await command.stdout.matching(/asked/)
    command.signal('SIGINT')
    expect(await command.ended).toMatchObject({ code: 130 })
    await witness.disconnected()
  })
})

test('run continues when the readers of its output leave', async () => {
  const endpoint = await TestEndpoint.start('hang')
  const program = `fetch('${endpoint.url}').catch(() => undefined)`
  const command = startBinary(['run', '--', node, '-e', program])
  await endpoint.received(1)
  command.closeOutput()
  await endpoint.close()
  expect(await command.ended).toMatchObject({ code: 0 })
})
