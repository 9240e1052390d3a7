import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { EventProgram, runsMax } from '../../../src/cli/listening/on-event.ts'
import { CapturedStream } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const { signal: never } = new AbortController()

function eventProgram(program: string, args: readonly string[]) {
  const output = new CapturedStream()
  const { PATH } = process.env
  const hook = new EventProgram({
    program,
    args,
    env: { PATH },
    write: (text) => void output.write(text),
  })
  onTestFinished(() => hook.close(AbortSignal.abort()))
  return { hook, output }
}

/** A program of Node that runs `code`. */
const node = (code: string, ...args: string[]) =>
  eventProgram(process.execPath, ['-e', code, ...args])

/** A server that programs connect to while they run; a closed connection shows that one has ended. */
async function reception() {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    socket.on('error', () => undefined).resume()
    sockets.push(socket)
    server.emit('reported')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return {
    sockets,
    /** Connects, and runs until it is ended. */
    stay: `require('net').connect(${port}, '127.0.0.1')`,
    reported: async (count: number) => {
      while (sockets.length < count) await once(server, 'reported')
    },
  }
}

describe('EventProgram', () => {
  test('passes each event as a line on stdin, and arguments that no shell interprets', async () => {
    const file = join(await temporaryFolder(), 'seen')
    const code = `
      const { appendFileSync, readFileSync } = require('fs')
      appendFileSync(process.argv[1], process.argv[2] + readFileSync(0, 'utf8'))`
    const { hook, output } = node(code, file, '$(id) "*" ; ')
    hook.run(1, '{"seq":1}\n')
    await hook.close(never)
    expect(await readFile(file, 'utf8')).toBe('$(id) "*" ; {"seq":1}\n')
    expect(output.text).toBe('')
  })

  test('passes on the output of a program', async () => {
    const { hook, output } = node('console.log("seen"); console.error("and said")')
    hook.run(1, '{}\n')
    await hook.close(never)
    expect(output.text).toContain('seen\n')
    expect(output.text).toContain('and said\n')
  })

  test.each([
    { how: 'a code', code: 'process.exit(3)', said: 'ended with exit code 3 (event #7)\n' },
    {
      how: 'a signal',
      code: 'process.kill(process.pid, "SIGKILL")',
      said: 'was ended by SIGKILL (event #7)\n',
    },
  ])('reports that a program ended with $how, and continues', async ({ code, said }) => {
    const { hook, output } = node(code)
    hook.run(7, '{}\n')
    hook.run(8, '{}\n')
    await hook.close(never)
    expect(output.text).toContain(`--on-event ${process.execPath} ${said}`)
    expect(output.text).toContain('(event #8)')
  })

  test('reports a missing program for every event', async () => {
    const { hook, output } = eventProgram('/nowhere/hook', [])
    for (let seq = 1; seq <= runsMax + 1; seq++) hook.run(seq, '{}\n')
    await hook.close(never)
    const line = '--on-event /nowhere/hook cannot be run: ENOENT (event #'
    expect(output.text.split(line)).toHaveLength(runsMax + 2)
  })

  test('reports that a program cannot be started, and continues', async () => {
    const { hook, output } = eventProgram(`${import.meta.filename}/hook`, [])
    for (let seq = 1; seq <= runsMax + 1; seq++) hook.run(seq, '{}\n')
    await hook.close(never)
    expect(output.text).toContain('cannot be run: ENOTDIR (event #1)')
    expect(output.text).toContain(`(event #${runsMax + 1})`)
  })

  test('continues when a program has ended, even if a child process keeps the output open', async () => {
    const { stay, sockets, reported } = await reception()
    const { hook, output } = node(`
      const { spawn } = require('child_process')
      const options = { detached: true, stdio: ['ignore', 'inherit', 'inherit'] }
      spawn(process.execPath, ['-e', ${JSON.stringify(stay)}], options)
      console.log('left it behind')
      process.exit()`)
    for (let seq = 1; seq <= runsMax + 1; seq++) hook.run(seq, '{}\n')
    await reported(runsMax + 1)
    await hook.close(never)
    expect(output.text).toBe('left it behind\n'.repeat(runsMax + 1))
    for (const socket of sockets) socket.end()
  })

  test('continues if a program does not read a large event', async () => {
    const { hook, output } = node('process.stdin.destroy()')
    hook.run(1, `${'x'.repeat(4 * 1024 * 1024)}\n`)
    await hook.close(never)
    expect(output.text).toBe('')
  })

  test('runs a few programs at once, and the others after them', async () => {
    const { stay, sockets, reported } = await reception()
    const { hook } = node(`${stay}.on('end', () => process.exit())`)
    for (let seq = 1; seq <= runsMax + 2; seq++) hook.run(seq, '{}\n')
    await reported(runsMax)
    expect(sockets).toHaveLength(runsMax)
    sockets[0]?.end()
    await reported(runsMax + 1)
    expect(sockets).toHaveLength(runsMax + 1)
  })

  test('skips events beyond 32 MB of waiting text, says so once, and counts them', async () => {
    const { stay, sockets, reported } = await reception()
    const { hook, output } = node(`process.stdin.resume(); ${stay}.on('end', () => process.exit())`)
    const line = 'x'.repeat(8 * 1024 * 1024)
    for (let seq = 1; seq <= runsMax + 6; seq++) hook.run(seq, line)
    expect(output.text).toMatch(/^--on-event \S+ cannot keep up: .*\n$/)
    for (let runs = 1; runs <= runsMax + 4; runs++) {
      await reported(runs)
      sockets[runs - 1]?.end()
    }
    await hook.close(never)
    expect(sockets).toHaveLength(runsMax + 4)
    expect(output.text).toMatch(/\n--on-event \S+ was not run for 2 events\n$/)
  })

  test('ends running programs and their processes when it is stopped', async () => {
    const { stay, sockets, reported } = await reception()
    const folder = await temporaryFolder()
    const script = join(folder, 'hook.sh')
    // The script and its child both ignore SIGTERM.
    const code = `process.on('SIGTERM', () => {}); ${stay}`
    await writeFile(script, `trap '' TERM\n"$1" -e "$2" &\nwait\nwait\n`)
    const { hook, output } = eventProgram('sh', [script, process.execPath, code])
    hook.run(1, '{}\n')
    await reported(1)
    const closed = once(sockets[0]!, 'close')
    await hook.close(AbortSignal.abort())
    await closed
    expect(output.text).toContain('was ended by SIGKILL (event #1)')
  })

  test('ends running programs when the process exits for any reason', async () => {
    const { stay, sockets, reported } = await reception()
    const before = process.listeners('exit')
    const { hook, output } = node(stay)
    hook.run(1, '{}\n')
    await reported(1)
    const closed = once(sockets[0]!, 'close')
    for (const kill of process.listeners('exit')) if (!before.includes(kill)) kill(130)
    await closed
    await hook.close(never)
    expect(output.text).toContain('was ended by SIGKILL (event #1)')
    expect(process.listeners('exit')).toEqual(before)
  })

  test('runs nothing once it is closed', async () => {
    const { hook, output } = node('console.log("ran")')
    await hook.close(never)
    hook.run(1, '{}\n')
    await hook.close(never)
    expect(output.text).toBe('')
  })
})
