import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createService, type ServiceConfiguration } from '../../src/service/library.ts'
import { TestEndpoint } from '../support/endpoint.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')
const readme = await readFile(join(root, 'README.md'), 'utf8')

/** The blocks of one language, in order. */
function blocks(language: string): readonly string[] {
  const fence = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms')
  return [...readme.matchAll(fence)].map(([, text]) => text ?? '')
}

const setUp = /^npm ci/
const scripts = blocks('sh').filter((script) => !setUp.test(script))

/** The number of the terminal in which a script is typed; 0 for any. */
function terminalOf(script: string): number {
  return Number(/^# terminal (\d)/.exec(script)?.[1] ?? 0)
}

/** Scripts that belong together, each session from its first terminal on. */
const sessions: string[][] = []
for (const script of scripts.filter((each) => terminalOf(each) > 0)) {
  if (terminalOf(script) === 1) sessions.push([])
  sessions.at(-1)?.push(script)
}

describe('the README', () => {
  let folder = ''

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'evroute-readme-'))
    await symlink(join(root, 'fixtures'), join(folder, 'fixtures'))
    await mkdir(join(folder, 'bin'))
    // What npx does in an installed project: it runs the package's binary.
    const npx = `#!/bin/sh\nshift\nexec ${process.execPath} ${join(root, 'bin/evroute.js')} "$@"\n`
    await writeFile(join(folder, 'bin/npx'), npx)
    await chmod(join(folder, 'bin/npx'), 0o755)
    await mkdir(join(folder, 'node_modules'))
    await symlink(root, join(folder, 'node_modules/evroute'))
    await symlink(join(root, 'node_modules/@segment'), join(folder, 'node_modules/@segment'))
  })

  afterAll(() => rm(folder, { recursive: true, force: true }))

  function shell(script: string): ChildProcess {
    const env = { ...process.env, PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}` }
    return spawn('bash', ['-c', `exec 2>&1; ${script}`], { cwd: folder, env, stdio: 'pipe' })
  }

  test('names the two commands of a newcomer', () => {
    expect(readme).toContain('npm ci && npx evroute demo')
    expect(readme).toContain('npm ci && npm test')
  })

  const single = scripts.filter((script) => terminalOf(script) === 0)
  test.each(single)('runs as it says: %s', async (script) => {
    const { code, output } = await finish(shell(`set -o pipefail; ${script}`))
    expect(code, output).toBe(0)
  })

  test.each(sessions)('runs in several terminals: %s', async (...terminals) => {
    const last = Math.max(...terminals.map(terminalOf))
    const open: { readonly child: ChildProcess; readonly ended: ReturnType<typeof finish> }[] = []
    for (const script of terminals.filter((each) => terminalOf(each) < last)) {
      const [command = ''] = script.split('\n').slice(1)
      const child = shell(`exec ${command}`)
      onTestFinished(() => void child.kill('SIGKILL'))
      open.unshift({ child, ended: finish(child) })
      await outputOf(child, /http:\/\/127/)
    }
    for (const script of terminals.filter((each) => terminalOf(each) === last)) {
      const typed = await finish(shell(`set -e; ${script}`))
      expect(typed.code, typed.output).toBe(0)
    }
    for (const { child, ended } of open) {
      child.kill('SIGINT')
      const { code, output } = await ended
      expect(code, output).toBe(0)
    }
    expect((await open.at(-1)?.ended)?.output).toMatch(/\d+ webhooks?/)
  })

  test('has examples of the library that compile', async () => {
    const endpoint = await TestEndpoint.start()
    const service = await createService({ configuration: configurationFor(endpoint.url) })
    onTestFinished(() => service.close(0))
    const examples = blocks('ts').map((text) =>
      text.replaceAll('http://127.0.0.1:4000', service.address.url),
    )
    const files = examples.map((_, index) => `example-${index}.ts`)
    await Promise.all(
      examples.map((text, index) => writeFile(join(folder, files[index] ?? ''), text)),
    )
    const compilerOptions = {
      module: 'nodenext',
      // Without their types they are JavaScript as it is written.
      target: 'esnext',
      lib: ['es2023', 'dom'],
      strict: true,
      outDir: 'out',
      typeRoots: [join(root, 'node_modules/@types')],
      types: ['node'],
    }
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    await run(process.execPath, [tsc, '-p', folder])
    for (const index of examples.keys()) {
      await run(process.execPath, ['--check', join(folder, `out/example-${index}.js`)])
    }
    const runExample = (text: string) => {
      const index = examples.findIndex((example) => example.includes(text))
      return run(process.execPath, [join(folder, `out/example-${index}.js`)])
    }
    expect((await runExample('new Receiver')).stdout).toBe('1 delete missing\nfalse\n')
    await runExample('startService')
    await runExample('startReceiver')
    await runExample('@segment/analytics-node')
    await endpoint.received(1)
    expect(endpoint.bodies).toMatchObject([{ event: 'Order Completed', userId: 'u_1' }])
  }, 120_000)
})

/** What a service needs for the examples that send to one. */
function configurationFor(url: string): ServiceConfiguration {
  return {
    store: 'memory:',
    network: { allow: ['127.0.0.0/8'] },
    sources: [{ id: 'website', writeKeys: ['wk_example'] }],
    destinations: [{ id: 'crm', type: 'Webhooks', sources: ['website'], endpoints: [{ url }] }],
  }
}

/** Resolves once a process has written what matches. */
async function outputOf(child: ChildProcess, pattern: RegExp): Promise<void> {
  let output = ''
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  while (!pattern.test(output)) await once(child.stdout!, 'data')
}

async function finish(child: ChildProcess): Promise<{ code: number | null; output: string }> {
  let output = ''
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output }
}
