import { execFile, spawnSync } from 'node:child_process'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { binaryPath, startBinary, TestProcess } from '../support/binary.ts'
import { fixture } from '../support/fixtures.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)
const atRoot = (name: string): Promise<string> =>
  readFile(new URL(`../../${name}`, import.meta.url), 'utf8')
const deployed = (name: string): Promise<string> => readFile(fixture(`deploy/${name}`), 'utf8')

/** The words of an instruction in JSON form. */
function wordsOf(dockerfile: string, instruction: string): readonly string[] {
  const [, json = '[]'] = new RegExp(`^${instruction} (\\[.*\\])$`, 'm').exec(dockerfile) ?? []
  return JSON.parse(json) as readonly string[]
}

const configurationPath = '/etc/evroute/evroute.config.json'

/** The configuration of the image in a clean folder, on free ports, with its secrets in files. */
async function installed(): Promise<string> {
  const folder = await temporaryFolder()
  const secrets = join(folder, 'secrets')
  await mkdir(secrets)
  const text = await deployed('evroute.config.json')
  for (const [, name = ''] of text.matchAll(/@\/run\/secrets\/([\w-]+)/g)) {
    const value = name === 'database-url' ? 'memory:' : `not-a-real-secret-${name}`
    await writeFile(join(secrets, name), value)
  }
  const local = text
    .replaceAll('/run/secrets', secrets)
    .replaceAll('0.0.0.0', '127.0.0.1')
    .replace(/"port": \d+/g, '"port": 0')
  const path = join(folder, 'evroute.config.json')
  await writeFile(path, local)
  return path
}

describe('the Dockerfile', () => {
  test('runs a service, whose health it checks', async () => {
    const dockerfile = await atRoot('Dockerfile')
    const words = [...wordsOf(dockerfile, 'ENTRYPOINT'), ...wordsOf(dockerfile, 'CMD')]
    expect(words).toContain(configurationPath)
    const path = await installed()
    const [program, ...argv] = words.map((word) => (word === configurationPath ? path : word))
    expect(program).toBe('evroute')
    const service = startBinary(argv)
    const { port } = await service.stdout.record('ready')
    const [node = '', flag = '', script = ''] = wordsOf(dockerfile, ' {2}CMD')
    expect([node, flag]).toEqual(['node', '-e'])
    const probe = script.replace(':4000/', `:${String(port)}/`)
    const check = () => new TestProcess(process.execPath, [flag, probe], {}).ended
    expect(await check()).toMatchObject({ code: 0 })
    service.signal('SIGTERM')
    expect(await service.ended).toMatchObject({ code: 0 })
    expect(await check()).toMatchObject({ code: 1 })
  })

  test('runs the service as an unprivileged user, from a small image', async () => {
    const dockerfile = await atRoot('Dockerfile')
    expect([...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)).toEqual([
      'node:24-slim',
      'node:24-slim',
    ])
    expect(dockerfile).toMatch(/^USER node$/m)
    expect(dockerfile).toMatch(/^VOLUME \/var\/lib\/evroute$/m)
  })
})

describe('compose.yaml', () => {
  interface Compose {
    readonly services: Readonly<
      Record<string, { readonly secrets: readonly string[]; readonly volumes: readonly string[] }>
    >
    readonly secrets: Readonly<Record<string, { readonly file: string }>>
  }

  test('gives the service its configuration and each secret that it names', async () => {
    const { services, secrets } = parse(await deployed('compose.yaml')) as Compose
    const text = await deployed('evroute.config.json')
    const named = [...text.matchAll(/@\/run\/secrets\/([\w-]+)/g)].map(([, name]) => name)
    expect(new Set(named)).toEqual(new Set(services['evroute']?.secrets))
    expect(Object.keys(secrets)).toEqual(expect.arrayContaining(named))
    expect(services['evroute']?.volumes).toEqual([`./evroute.config.json:${configurationPath}:ro`])
  })

  test('opens the ports of the configuration, and declares the volumes and secrets of its services', async () => {
    const compose = composeSchema.parse(parse(await deployed('compose.yaml')))
    const { listen, admin } = JSON.parse(await deployed('evroute.config.json')) as Ports
    const ports = compose.services['evroute']?.ports?.map((port) => port.split(':').at(-1))
    expect(ports).toEqual([listen, admin].map(({ port }) => String(port)))
    const exposed = /^EXPOSE (.+)$/m.exec(await atRoot('Dockerfile'))?.[1]
    expect(exposed?.split(' ')).toEqual(ports)
    const named = Object.values(compose.services).flatMap(({ volumes = [] }) => volumes)
    const ownVolumes = named.map((volume) => volume.split(':')[0] ?? '').filter(isName)
    expect(Object.keys(compose.volumes)).toEqual(ownVolumes)
    const services = Object.entries(compose.services)
    for (const [, { secrets = [], depends_on: needed = {} }] of services) {
      expect(Object.keys(compose.secrets)).toEqual(expect.arrayContaining(secrets))
      expect(Object.keys(compose.services)).toEqual(expect.arrayContaining(Object.keys(needed)))
    }
  })

  interface Ports {
    readonly listen: { readonly port: number }
    readonly admin: { readonly port: number }
  }

  const isName = (volume: string): boolean => !volume.startsWith('.')

  /** What the file uses of the Compose specification. */
  const composeSchema = z.strictObject({
    services: z.record(
      z.string(),
      z.strictObject({
        image: z.string().optional(),
        build: z.string().optional(),
        environment: z.record(z.string(), z.string()).optional(),
        depends_on: z
          .record(z.string(), z.strictObject({ condition: z.literal('service_healthy') }))
          .optional(),
        ports: z.array(z.string().regex(/^([\d.]+:)?\d+:\d+$/)).optional(),
        secrets: z.array(z.string()).optional(),
        volumes: z.array(z.string()).optional(),
        healthcheck: z
          .strictObject({ test: z.array(z.string()), interval: z.string().regex(/^\d+s$/) })
          .optional(),
        stop_grace_period: z
          .string()
          .regex(/^\d+s$/)
          .optional(),
        restart: z.enum(['no', 'always', 'on-failure', 'unless-stopped']),
      }),
    ),
    volumes: z.record(z.string(), z.null()),
    secrets: z.record(z.string(), z.strictObject({ file: z.string().startsWith('./') })),
  })
})

describe('the unit of systemd', () => {
  test('runs a service', async () => {
    const unit = await deployed('evroute.service')
    const [, line = ''] = /^ExecStart=\/usr\/bin\/env evroute (.+)$/m.exec(unit) ?? []
    const path = await installed()
    const service = startBinary(line.replace(configurationPath, path).split(' '))
    await service.stdout.record('ready')
    service.signal('SIGHUP')
    await service.stderr.matching(/the configuration is the same/)
    service.signal('SIGTERM')
    service.signal('SIGTERM')
    expect(await service.ended).toMatchObject({ signal: null })
  })

  test('has one setting per line, and none twice', async () => {
    const unit = await deployed('evroute.service')
    const lines = unit.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    const sections = lines.filter((line) => line.startsWith('['))
    expect(sections).toEqual(['[Unit]', '[Service]', '[Install]'])
    const settings = lines.filter((line) => !line.startsWith('['))
    expect(settings.every((line) => /^[A-Z]\w+=/.test(line))).toBe(true)
    const names = settings.map((line) => line.split('=')[0])
    expect(new Set(names).size).toBe(names.length)
  })

  const analyze = spawnSync('systemd-analyze', ['--version'])
  test.runIf(analyze.status === 0)('is accepted by systemd', async () => {
    const { stderr } = await run('systemd-analyze', ['verify', fixture('deploy/evroute.service')])
    expect(stderr).toBe('')
  })
})

describe('the action', () => {
  /** The metadata of a composite action, as GitHub documents it. */
  const actionSchema = z.strictObject({
    name: z.string(),
    description: z.string(),
    inputs: z.record(
      z.string().regex(/^[a-z_][\w-]*$/),
      z.strictObject({
        description: z.string(),
        required: z.boolean().optional(),
        default: z.string().optional(),
      }),
    ),
    runs: z.strictObject({
      using: z.literal('composite'),
      steps: z
        .array(
          z.strictObject({
            shell: z.literal('bash'),
            env: z.record(z.string().regex(/^[A-Z_]+$/), z.string()),
            // An input in the text of a script would be run as part of it.
            run: z.string().regex(/^[^$]*(\$(?!\{\{)[^$]*)*$/),
          }),
        )
        .length(1),
    }),
  })

  test('has the metadata of a composite action, with its inputs in variables only', async () => {
    const { inputs } = actionSchema.parse(parse(await atRoot('action.yml')))
    for (const { required = false, default: fallback } of Object.values(inputs)) {
      expect(fallback === undefined).toBe(required)
    }
  })

  /** Runs the action as GitHub does, with an npx that runs this build. */
  async function act(inputs: Readonly<Record<string, string>>) {
    const { inputs: declared, runs } = actionSchema.parse(parse(await atRoot('action.yml')))
    const [step] = runs.steps
    const env = Object.entries(step?.env ?? {}).map(([name, value]) => {
      const [, input = ''] = /^\$\{\{ inputs\.(\w+) \}\}$/.exec(value) ?? []
      expect(Object.keys(declared)).toContain(input)
      return [name, inputs[input] ?? declared[input]?.default ?? ''] as const
    })
    const folder = await temporaryFolder()
    const npx = join(folder, 'npx')
    await writeFile(npx, `#!/bin/sh\nshift 2\nexec "${process.execPath}" "${binaryPath}" "$@"\n`)
    await chmod(npx, 0o755)
    const PATH = `${folder}:${process.env['PATH'] ?? ''}`
    const script = `cd "${folder}"\n${step?.run ?? ''}`
    const flags = ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script]
    return new TestProcess('bash', flags, { ...Object.fromEntries<string>(env), PATH }).ended
  }

  const send = `"${process.execPath}" "${binaryPath}" send track --event "Order 1" --to "$EVROUTE_URL"`

  test('succeeds when the expected webhooks arrive', async () => {
    const expected = '\ntype:track event:"Order*" sig:valid x1\nsig:invalid never\n'
    const { code, stderr } = await act({ command: send, expect: expected })
    expect({ code, stderr }).toMatchObject({ code: 0 })
  })

  test('exits with 5 if the expected webhooks do not arrive, and can put a service in front', async () => {
    const command = 'test -n "$EVROUTE_ENDPOINT"'
    const given = { command, expect: 'type:track', serve: 'true', timeout: '10ms' }
    expect(await act(given)).toMatchObject({ code: 5 })
  })

  test('passes the exit code of its command on', async () => {
    expect(await act({ command: 'exit 3' })).toMatchObject({ code: 3 })
  })

  test.each(['false\ntrue', 'false | true'])(
    'fails like a step with the script %j',
    async (command) => {
      expect(await act({ command })).toMatchObject({ code: 1 })
    },
  )
})
