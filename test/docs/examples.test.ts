import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createService, type ServiceConfiguration } from '../../src/service/library.ts'
import { startReceiver, type TestReceiver } from '../../src/testing/index.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')

/** Pages made from the code, which `reference.test.ts` checks. Their blocks are help texts. */
const generated: readonly string[] = [
  'commands.md',
  'configuration.md',
  'exit-codes.md',
  'records.md',
]

/** A longer page answers more than one question. */
const pageLinesMax = 200

/** A block of code in a page. */
interface Block {
  readonly language: string
  readonly text: string
  /** Why no test runs it; undefined if one does. */
  readonly notRun: string | undefined
}

/** A page that people read, and its blocks in order. */
interface Page {
  readonly name: string
  readonly text: string
  readonly blocks: readonly Block[]
}

const written = (await readdir(join(root, 'docs'))).filter(
  (name) => name.endsWith('.md') && !generated.includes(name),
)
const pages: readonly Page[] = await Promise.all(
  ['README.md', ...written.map((name) => `docs/${name}`)].map(readPage),
)

async function readPage(name: string): Promise<Page> {
  const text = await readFile(join(root, name), 'utf8')
  const block = /(?:^<!-- Not run: (.+) -->\n)?^ *```(\w*)\n(.*?)^ *```/gms
  const blocks = [...text.matchAll(block)].map(([, notRun, language = '', body = '']) => {
    return { language, text: body, notRun }
  })
  return { name, text, blocks }
}

/** Tests skip the set-up, which the project's own CI runs. */
const setUp = /^npm ci/

function scriptsOf({ blocks }: Page): readonly string[] {
  return blocks
    .filter(
      ({ language, text, notRun }) =>
        language === 'sh' && notRun === undefined && !setUp.test(text),
    )
    .map(({ text }) => text)
}

/** The number of the terminal in which a script is typed; 0 for any. */
function terminalOf(script: string): number {
  return Number(/^# terminal (\d)/.exec(script)?.[1] ?? 0)
}

/** Scripts that belong together, each session from its first terminal on. */
function sessionsOf(scripts: readonly string[]): readonly (readonly string[])[] {
  const sessions: string[][] = []
  for (const script of scripts.filter((each) => terminalOf(each) > 0)) {
    if (terminalOf(script) === 1) sessions.push([])
    sessions.at(-1)?.push(script)
  }
  return sessions
}

describe('the pages', () => {
  test('name the commands for the demo and the tests in the README', () => {
    const [readme] = pages
    expect(readme?.text).toContain('npm ci && npx evroute demo')
    expect(readme?.text).toContain('npm ci && npm test')
  })

  test.each(pages)('$name has at most 200 lines', ({ text }) => {
    expect(text.split('\n').length - 1).toBeLessThanOrEqual(pageLinesMax)
  })

  test.each(pages)('$name has blocks that a test runs, or that say why not', ({ blocks }) => {
    const others = blocks.filter(({ language, notRun }) => {
      return language !== 'sh' && language !== 'ts' && notRun === undefined
    })
    expect(others).toEqual([])
  })

  test.each(pages)('$name links to existing files', async ({ name, text }) => {
    const links = [...text.matchAll(/\]\(([^)#]+)(#[^)]*)?\)/g)].map(([, path = '']) => path)
    for (const path of links.filter((each) => !/^https?:/.test(each))) {
      await expect(
        readFile(resolve(root, name, '..', path)).catch(errorCode),
        path,
      ).resolves.not.toBe('ENOENT')
    }
  })
})

function errorCode(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}

/** A folder in which `npx evroute` runs this clone, as in a project that has it installed. */
async function createProject(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'evroute-docs-'))
  await symlink(join(root, 'fixtures'), join(folder, 'fixtures'))
  await mkdir(join(folder, 'bin'))
  // What npx does in an installed project: it runs the package's binary.
  const npx = `#!/bin/sh\nshift\nexec ${process.execPath} ${join(root, 'bin/evroute.js')} "$@"\n`
  await writeFile(join(folder, 'bin/npx'), npx)
  await chmod(join(folder, 'bin/npx'), 0o755)
  await mkdir(join(folder, 'node_modules'))
  await symlink(root, join(folder, 'node_modules/evroute'))
  await symlink(join(root, 'node_modules/@segment'), join(folder, 'node_modules/@segment'))
  return folder
}

describe.each(pages.filter((page) => scriptsOf(page).length > 0))('$name', (page) => {
  const scripts = scriptsOf(page)
  let folder = ''

  beforeAll(async () => {
    folder = await createProject()
  })

  afterAll(() => rm(folder, { recursive: true, force: true }))

  function shell(script: string): ChildProcess {
    const env = { ...process.env, PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}` }
    return spawn('bash', ['-c', `exec 2>&1; ${script}`], { cwd: folder, env, stdio: 'pipe' })
  }

  const single = scripts.filter((script) => terminalOf(script) === 0)
  test.skipIf(single.length === 0).each(single)('runs as it says: %s', async (script) => {
    const { code, output } = await finish(shell(`set -o pipefail; ${script}`))
    expect(code, output).toBe(0)
  })

  const sessions = sessionsOf(scripts)
  test.skipIf(sessions.length === 0).each(sessions)(
    'runs in several terminals: %s',
    async (...terminals) => {
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
    },
  )
})

describe('the examples of the library', () => {
  let folder = ''
  let receiver: TestReceiver
  let serviceUrl = ''
  const examples = pages.flatMap(({ name, blocks }) =>
    blocks
      .filter(({ language }) => language === 'ts')
      .map(({ text, notRun }, index) => ({ page: name, number: index + 1, text, notRun })),
  )
  const files = examples.map((_, index) => `example-${index}.ts`)

  beforeAll(async () => {
    folder = await createProject()
    receiver = await startReceiver()
    const service = await createService({ configuration: configurationFor(receiver.url) })
    serviceUrl = service.address.url
    await Promise.all(
      examples.map(({ text }, index) => writeFile(join(folder, files[index] ?? ''), located(text))),
    )
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    await run(process.execPath, [tsc, '-p', folder])
    return async () => {
      await service.close(0)
      await receiver.close()
      await rm(folder, { recursive: true, force: true })
    }
  }, 120_000)

  /** An example that sends to a service of the test. */
  function located(text: string): string {
    return text
      .replaceAll(/http:\/\/127\.0\.0\.1:4000|https:\/\/events\.example\.com/g, serviceUrl)
      .replaceAll(
        "Client('wk_example')",
        `Client('wk_example', { endpoint: '${serviceUrl}/v1/batch' })`,
      )
  }

  test.each(examples.map((example, index) => ({ ...example, index })))(
    'compile and run: $page, $number',
    async ({ text, notRun, index }) => {
      const file = join(folder, `out/example-${index}.js`)
      if (notRun !== undefined) {
        await run(process.execPath, ['--check', file])
        return
      }
      const { stdout } = await run(process.execPath, [file])
      if (text.includes('new Receiver')) expect(stdout).toBe('1 delete missing\nfalse\n')
    },
  )

  test('deliver what they record', async () => {
    await receiver.expect({ type: 'track', event: 'Order Completed', userId: 'u_1' })
  })
})

const compilerOptions = {
  module: 'nodenext',
  // Without their types they are JavaScript as it is written.
  target: 'esnext',
  lib: ['es2023', 'dom'],
  strict: true,
  skipLibCheck: true,
  outDir: 'out',
  typeRoots: [join(root, 'node_modules/@types')],
  types: ['node'],
}

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
