import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import module from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')
const bytesMax = 1_200_000

interface Packed {
  readonly filename: string
  readonly size: number
  readonly files: readonly { readonly path: string }[]
}

describe('the packed package, installed in an empty folder', () => {
  let folder = ''
  let packed: Packed = { filename: '', size: 0, files: [] }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'evroute-package-'))
    // Scripts would build again, and remove dist from under the tests that run at the same time.
    const flags = ['--json', '--ignore-scripts', '--pack-destination', folder]
    const { stdout } = await run('npm', ['pack', ...flags], { cwd: root })
    packed = readPacked(stdout)
    const home = join(folder, 'node_modules/evroute')
    await mkdir(home, { recursive: true })
    const tarball = join(folder, packed.filename)
    await run('tar', ['-xzf', tarball, '-C', home, '--strip-components', '1'])
    await symlink(join(root, 'node_modules'), join(home, 'node_modules'))
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  })

  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('holds what is needed and nothing else', () => {
    const folders = new Set(packed.files.map(({ path }) => path.split('/')[0]))
    expect([...folders].sort()).toEqual(
      ['CHANGELOG.md', 'LICENSE', 'README.md', 'bin', 'dist', 'docs', 'package.json'].sort(),
    )
    const pages = packed.files.filter(({ path }) => path.startsWith('docs/'))
    expect(pages.map(({ path }) => path)).toEqual(['docs/evroute.1'])
    // Stack traces name readable modules, so neither maps nor sources are needed.
    expect(packed.files.filter(({ path }) => path.endsWith('.map'))).toEqual([])
    expect(packed.size).toBeLessThan(bytesMax)
  })

  test('runs its binary', async () => {
    const binary = join(folder, 'node_modules/evroute/bin/evroute.js')
    const { stdout } = await run(process.execPath, [binary, '--version'])
    const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as object
    expect(manifest).toMatchObject({ version: stdout.trim() })
  })

  test('requires few files for a dry run, because each takes time', async () => {
    const list = join(folder, 'required.json')
    const recorder = join(folder, 'recorder.cjs')
    await writeFile(
      recorder,
      `const { writeFileSync } = require('node:fs')
      process.on('exit', () => {
        writeFileSync(${JSON.stringify(list)}, JSON.stringify(Object.keys(require.cache)))
      })`,
    )
    const binary = join(folder, 'node_modules/evroute/bin/evroute.js')
    await run(process.execPath, ['--require', recorder, binary, 'send', 'track', '--dry-run'])
    const required = JSON.parse(await readFile(list, 'utf8')) as readonly string[]
    const files = required.filter((path) => path.includes('/node_modules/evroute/'))
    // As an ES module it would be missing here, and the loader of ES modules takes longer than all of these files.
    expect(files).toContainEqual(expect.stringMatching(/dist\/command\/send\.cjs$/))
    expect(files.length).toBeLessThan(8)
    const unneeded = required.filter((path) => /@modelcontextprotocol|jsonc-parser/.test(path))
    expect(unneeded).toEqual([])
  })

  test('reports a version of Node that it cannot run on', async () => {
    const binary = join(folder, 'node_modules/evroute/bin/evroute.js')
    const ending = run(process.execPath, ['--no-experimental-require-module', binary, 'demo'])
    await expect(ending).rejects.toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(
        /^evroute: Cannot run on Node .*20\.19, or 22\.13 or later.*\n$/,
      ) as string,
    })
  })

  test.runIf('enableCompileCache' in module)('caches the code that Node has compiled', async () => {
    const binary = join(folder, 'node_modules/evroute/bin/evroute.js')
    const TMPDIR = join(folder, 'kept')
    await mkdir(TMPDIR)
    await run(process.execPath, [binary, 'explain', '--help'], { env: { TMPDIR } })
    expect(await readdir(TMPDIR)).toEqual(['node-compile-cache'])
  })

  test.each([
    ['import', 'esm.mjs', "import { Client, Receiver, verifySignature } from 'evroute'\n"],
    ['require', 'cjs.cjs', "const { Client, Receiver, verifySignature } = require('evroute')\n"],
  ])('can be loaded with %s', async (_, file, line) => {
    const program = 'console.log([Client, Receiver, verifySignature].map((it) => typeof it).join())'
    await writeFile(join(folder, file), line + program)
    const { stdout } = await run(process.execPath, [join(folder, file)])
    expect(stdout.trim()).toBe('function,function,function')
  })

  test.each([
    ['node16', 'node16'],
    ['preserve', 'bundler'],
    ['esnext', 'node10'],
  ])('has types for TypeScript with module %s', async (module, moduleResolution) => {
    const program = `
      import { Client, type CloseReport } from 'evroute'
      import { createService } from 'evroute/service'
      import { startReceiver } from 'evroute/testing'
      export const started = [createService, startReceiver]
      const client = new Client('wk_example', { flushAt: 1 })
      const answer = client.track({ userId: 'u_1', event: 'E' })
      export const status: 'queued' | 'refused' | 'disabled' = answer.status
      export const report: Promise<CloseReport> = client.close()
      interface Order { readonly id: string; readonly coupon?: string }
      declare const order: Order
      declare const visitor: { readonly userId: string | undefined; readonly anonymousId: string }
      client.track({ ...visitor, event: 'E', properties: order, timestamp: undefined })
      client.identify({ userId: 'u_1', traits: order, context: undefined })
      // @ts-expect-error: a list must not compile as properties
      client.track({ userId: 'u_1', event: 'E', properties: [order] })
      client.track({ userId: 'u_1' })
      client.track({ event: 'E' })
    `
    await writeFile(join(folder, 'consumer.ts'), program)
    const compilerOptions = {
      module,
      moduleResolution,
      ...(moduleResolution === 'node10' ? { ignoreDeprecations: '6.0' } : {}),
      target: 'es2023',
      lib: ['es2023', 'esnext.disposable'],
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      // The declarations are the same for all three, so they are checked once.
      skipLibCheck: module !== 'node16',
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
    }
    const config = { compilerOptions, files: ['consumer.ts'] }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    const compiling = run(process.execPath, [tsc, '-p', folder])
    const { stdout } = await compiling.catch((error: unknown) => error as { stdout: string })
    // The last two calls lack a field, and the errors name it.
    expect(stdout.match(/error TS|Property '\w+' is missing/g)).toEqual([
      'error TS',
      "Property 'event' is missing",
      'error TS',
      "Property 'userId' is missing",
    ])
  })
})

/** npm prints a list up to version 11, and an object keyed by name from then on. */
function readPacked(stdout: string): Packed {
  const answer = JSON.parse(stdout) as Packed[] | Record<string, Packed>
  const [packed] = Object.values(answer)
  if (packed === undefined) throw new Error(`npm pack printed ${stdout}`)
  return packed
}
