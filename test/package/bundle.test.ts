import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { rolldown, type InputOptions } from 'rolldown'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { TestEndpoint } from '../support/endpoint.ts'

const root = resolve(import.meta.dirname, '../..')

const programs = {
  client: `
    import { Client } from 'evroute'
    const client = new Client('wk_example', { endpoint: process.argv[2] })
    client.track({ userId: 'u_1', event: 'Order Completed' })
    const { delivered, undelivered } = await client.close()
    console.log(delivered, undelivered)`,
  commonJs: `
    import { Client, Receiver } from 'evroute'
    async function main() {
      const client = new Client('wk_example', { endpoint: process.argv[2] })
      client.track({ userId: 'u_1', event: 'Order Completed' })
      console.log((await client.close()).delivered)
      const receiver = new Receiver()
      const { url } = await receiver.start()
      const body = '{"type":"delete","userId":"u_1"}'
      console.log((await fetch(url, { method: 'POST', body })).status)
      console.log((await fetch(new URL('_evroute/', url))).status)
      await receiver.close()
    }
    main()`,
  receiver: `
    import { Receiver } from 'evroute'
    const forwardTo = process.argv.slice(2).map((url) => ({ type: null, url }))
    const receiver = new Receiver({ forwardTo })
    const { url } = await receiver.start()
    console.log(url)
    await receiver.waitFor(1)
    const [event] = receiver.events
    console.log(event.type, event.forward?.status)
    await receiver.close()`,
  service: `
    import { createService } from 'evroute/service'
    const sources = [{ id: 'website', writeKeys: ['wk_example'] }]
    createService({ configuration: { store: 'sqlite:./evroute.db', sources } }).catch(
      ({ code, message, hint }) => console.log(code, message, hint),
    )`,
}

describe('a bundle in a folder without packages', () => {
  let sources = ''
  let bundles = ''

  beforeAll(async () => {
    sources = await mkdtemp(join(tmpdir(), 'evroute-bundled-'))
    bundles = await mkdtemp(join(tmpdir(), 'evroute-bundles-'))
    await mkdir(join(sources, 'node_modules'))
    await symlink(root, join(sources, 'node_modules/evroute'))
    for (const [name, text] of Object.entries(programs)) {
      await writeFile(join(sources, `${name}.js`), text)
    }
  })

  afterAll(async () => {
    await rm(sources, { recursive: true, force: true })
    await rm(bundles, { recursive: true, force: true })
  })

  async function bundle(
    name: keyof typeof programs,
    options: InputOptions,
    format: 'esm' | 'cjs' = 'esm',
  ): Promise<string> {
    const build = await rolldown({ input: join(sources, `${name}.js`), ...options })
    const file = join(bundles, `${name}.${format === 'esm' ? 'mjs' : 'cjs'}`)
    await build.write({ file, format, codeSplitting: false })
    await build.close()
    return file
  }

  /** Like the defaults of esbuild: CommonJS packages that require Node's own modules fail when they are loaded. */
  const strict: InputOptions = {
    platform: 'neutral',
    resolve: { mainFields: ['module', 'main'], conditionNames: ['node', 'import'] },
    external: [/^node:/, ...builtinModules],
  }

  function start(file: string, ...argv: readonly string[]): RunningProgram {
    const child = spawn(process.execPath, [file, ...argv], { cwd: bundles, stdio: 'pipe' })
    onTestFinished(() => void child.kill('SIGKILL'))
    return new RunningProgram(child)
  }

  test('of a client delivers', async () => {
    const endpoint = await TestEndpoint.start({ status: 200, body: '{"success":true}' })
    const sender = start(await bundle('client', strict), endpoint.url)
    expect(await sender.ended).toBe('1 []\n')
    expect(endpoint.bodies).toMatchObject([{ batch: [{ event: 'Order Completed' }] }])
  })

  test('in CommonJS has no import.meta.url, and works', async () => {
    const endpoint = await TestEndpoint.start({ status: 200, body: '{"success":true}' })
    const program = start(await bundle('commonJs', strict, 'cjs'), endpoint.url)
    expect(await program.ended).toBe('1\n200\n404\n')
  })

  test('of a receiver receives and forwards', async () => {
    const target = await TestEndpoint.start()
    const receiver = start(await bundle('receiver', strict), target.url)
    const body = '{"type":"delete","userId":"u_1"}'
    // The program may exit before it answers.
    await fetch(await receiver.firstLine(), { method: 'POST', body }).catch(() => undefined)
    expect(await receiver.ended).toMatch(/\ndelete 200\n$/)
    expect(target.bodies).toEqual([JSON.parse(body)])
  })

  test.each([
    { format: 'esm', file: 'store-thread.mjs' },
    { format: 'cjs', file: '/store-thread' },
  ] as const)(
    'of a service in $format reports that the thread of its store is missing',
    async ({ format, file }) => {
      // esbuild replaces import.meta with {} in CommonJS.
      const transform = format === 'cjs' ? { define: { 'import.meta': '{}' } } : {}
      const options: InputOptions = { platform: 'node', transform }
      const output = await start(await bundle('service', options, format)).ended
      expect(output).toContain('store_unusable Cannot start the thread of the store: ')
      expect(output).toContain(`${file} is missing, probably because evroute was bundled`)
      expect(output).toContain('Keep evroute out of the bundle')
    },
  )
})

/** A running program, with what it writes to stdout and stderr. */
class RunningProgram {
  /** Resolves with the whole output when the program has ended. */
  readonly ended: Promise<string>
  readonly #child: ChildProcess
  #output = ''

  constructor(child: ChildProcess) {
    this.#child = child
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()))
    }
    this.ended = once(child, 'close').then(() => this.#output)
  }

  /** Resolves with the first line of the output. */
  async firstLine(): Promise<string> {
    while (!this.#output.includes('\n')) await once(this.#child.stdout!, 'data')
    return this.#output.slice(0, this.#output.indexOf('\n'))
  }
}
