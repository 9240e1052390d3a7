import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

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

  const single = scripts.filter((script) => !script.startsWith('# terminal'))
  test.each(single)('runs as it says: %s', async (script) => {
    const { code, output } = await finish(shell(`set -o pipefail; ${script}`))
    expect(code, output).toBe(0)
  })

  const pairs = scripts
    .filter((script) => script.startsWith('# terminal 1'))
    .map((first) => [first, scripts[scripts.indexOf(first) + 1] ?? ''])
  test.each(pairs)('runs in two terminals: %s %s', async (first, second) => {
    expect(second).toMatch(/^# terminal 2/)
    const [command = ''] = first.split('\n').slice(1)
    const receiver = shell(`exec ${command}`)
    const received = finish(receiver)
    await once(receiver.stdout!, 'data')
    const sent = await finish(shell(`set -e; ${second}`))
    receiver.kill('SIGINT')
    expect(sent.code, sent.output).toBe(0)
    const { code, output } = await received
    expect(code, output).toBe(0)
    expect(output).toContain('webhooks')
  })

  test('has examples of the library that compile', async () => {
    await mkdir(join(folder, 'node_modules'))
    await symlink(root, join(folder, 'node_modules/evroute'))
    const files = blocks('ts').map((_, index) => `example-${index}.ts`)
    await Promise.all(
      blocks('ts').map((text, index) => writeFile(join(folder, files[index] ?? ''), text)),
    )
    const compilerOptions = {
      module: 'nodenext',
      target: 'es2023',
      lib: ['es2023', 'esnext.disposable', 'dom'],
      strict: true,
      outDir: 'out',
      typeRoots: [join(root, 'node_modules/@types')],
      types: ['node'],
    }
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    await run(process.execPath, [tsc, '-p', folder])
    const receiving = blocks('ts').findIndex((text) => text.includes('new Receiver'))
    const { stdout } = await run(process.execPath, [join(folder, `out/example-${receiving}.js`)])
    expect(stdout).toBe('1 delete missing\nfalse\n')
  })
})

async function finish(child: ChildProcess): Promise<{ code: number | null; output: string }> {
  let output = ''
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output }
}
