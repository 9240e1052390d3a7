import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { readConfiguration } from '../../../src/service/index.ts'
import { run } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const names = [
  'evroute.secrets/write-key',
  'evroute.secrets/shared-secret',
  'evroute.secrets/admin-token',
]

const configIn = (folder: string): string => join(folder, 'evroute.config.json')

function initIn(folder: string, argv: readonly string[] = []) {
  return run(['init', '--config', configIn(folder), ...argv])
}

function textsIn(folder: string): Promise<readonly string[]> {
  return Promise.all(
    [...names, 'evroute.config.json'].map((name) => readFile(join(folder, name), 'utf8')),
  )
}

/** Returns the schema that a configuration created in this folder names. */
async function schemaOf(folder: string): Promise<unknown> {
  expect(await initIn(folder)).toMatchObject({ code: 0 })
  const text = await readFile(configIn(folder), 'utf8')
  return (JSON.parse(text) as Readonly<Record<string, unknown>>)['$schema']
}

describe('init', () => {
  test('writes a configuration that works on this machine, with its secrets beside it', async () => {
    const folder = await temporaryFolder()
    const { code, stderr } = await initIn(folder)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const outcome = await readConfiguration(configIn(folder), {
      env: {},
      readFile: (path) => readFile(path, 'utf8'),
    })
    const [writeKey, sharedSecret, token] = (await textsIn(folder)).map((text) => text.trimEnd())
    expect(outcome).toMatchObject({
      kind: 'valid',
      configuration: {
        listen: { host: '127.0.0.1', port: 4000 },
        admin: { port: 4001, token },
        store: `sqlite:${folder}/evroute.db`,
        sources: [{ id: 'website', enabled: true, writeKeys: [writeKey] }],
        destinations: [
          {
            id: 'crm',
            sourceIds: ['website'],
            endpoints: [{ url: 'http://127.0.0.1:4100/', headers: { 'X-Team': 'growth' } }],
            sharedSecret,
            enabled: true,
          },
        ],
      },
    })
  })

  test('creates unique secrets that only their owner can read', async () => {
    const [one, other] = [await temporaryFolder(), await temporaryFolder()]
    await initIn(one)
    await initIn(other)
    const secrets = [...(await textsIn(one)).slice(0, 3), ...(await textsIn(other)).slice(0, 3)]
    expect(new Set(secrets).size).toBe(6)
    expect(secrets.every((secret) => /^(wk_)?[\w-]{24,}\n$/.test(secret))).toBe(true)
    for (const name of names) expect((await stat(join(one, name))).mode & 0o777).toBe(0o600)
  })

  test('keeps the secrets out of git, and of the configuration', async () => {
    const folder = await temporaryFolder()
    await initIn(folder)
    const git = (...argv: string[]) => promisify(execFile)('git', argv, { cwd: folder })
    await git('init')
    const { stdout } = await git('status', '--porcelain', '--untracked-files=all')
    expect(stdout).toBe('?? evroute.config.json\n')
    const [writeKey, sharedSecret, token, config] = await textsIn(folder)
    for (const secret of [writeKey, sharedSecret, token]) {
      expect(config).not.toContain(secret!.trimEnd())
    }
  })

  test('lists the parts of a destination, and the next commands', async () => {
    const folder = await temporaryFolder()
    const { stdout } = await initIn(folder)
    expect(stdout.match(/^ {2}[a-zS, ]+?(?= {2})/gm)?.map((name) => name.trim())).toEqual([
      'type, sources',
      'endpoints',
      'headers',
      'sharedSecret',
      'enabled',
    ])
    expect(stdout).toContain(`evroute listen --secret @${folder}/evroute.secrets/shared-secret\n`)
    expect(stdout).toContain(`evroute serve --config ${configIn(folder)}\n`)
    const [, command = ''] = /(curl -u "[^"]+")/.exec(stdout) ?? []
    const shown = await promisify(execFile)('bash', ['-c', command.replace('curl -u', 'echo')])
    expect(shown.stdout).toBe(`${(await textsIn(folder))[0]!.trimEnd()}:\n`)
  })

  test('suggests commands with npx if npx started it', async () => {
    const config = configIn(await temporaryFolder())
    const { stdout } = await run(['init', '--config', config], { env: { npm_command: 'exec' } })
    expect(stdout).toMatch(/\n {2}npx evroute listen --secret .*\n {2}npx evroute serve --config /)
    expect(stdout).toContain('`npx evroute config --config ')
  })

  test('quotes paths that a shell would split', async () => {
    const folder = join(await temporaryFolder(), "it's here")
    const { stdout } = await initIn(folder)
    const [, command = ''] = /evroute (serve --config .*)\n/.exec(stdout) ?? []
    const shown = await promisify(execFile)('bash', ['-c', `printf '%s\\n' ${command}`])
    expect(shown.stdout).toBe(`serve\n--config\n${configIn(folder)}\n`)
  })

  test.each([
    ['beside the configuration', '.', './node_modules'],
    ['above it', 'staging/eu', '../../node_modules'],
  ])('names the schema of the package that is installed %s', async (_name, subfolder, schema) => {
    const project = await temporaryFolder()
    const installed = join(project, 'node_modules', 'evroute', 'dist')
    await mkdir(installed, { recursive: true })
    await writeFile(join(installed, 'evroute.config.schema.json'), '{}')
    expect(await schemaOf(join(project, subfolder))).toBe(
      `${schema}/evroute/dist/evroute.config.schema.json`,
    )
  })

  test('names the future path of the schema if the package is not installed yet', async () => {
    expect(await schemaOf(await temporaryFolder())).toBe(
      './node_modules/evroute/dist/evroute.config.schema.json',
    )
  })

  test('replaces nothing, whichever of the files exists', async () => {
    for (const name of ['evroute.config.json', ...names]) {
      const folder = await temporaryFolder()
      await mkdir(join(folder, 'evroute.secrets'))
      await writeFile(join(folder, name), 'mine')
      const { code, stdout, stderr } = await initIn(folder)
      expect({ code, stdout }).toEqual({ code: 7, stdout: '' })
      expect(stderr).toBe(
        `evroute: Cannot write ${join(folder, name)}: it already exists. Pass --force to replace it and the other files of the configuration, including the secrets.\n`,
      )
      const files = await readdir(folder, { recursive: true })
      expect(files.sort()).toEqual(['evroute.secrets', name].sort())
      expect(await readFile(join(folder, name), 'utf8')).toBe('mine')
    }
  })

  test('replaces everything with --force, and follows no link', async () => {
    const folder = await temporaryFolder()
    await initIn(folder)
    const before = await textsIn(folder)
    const secret = join(folder, names[1]!)
    const elsewhere = join(folder, 'elsewhere')
    await writeFile(elsewhere, 'mine')
    await promisify(execFile)('ln', ['-sf', elsewhere, secret])
    expect(await initIn(folder, ['--force'])).toMatchObject({ code: 0 })
    const after = await textsIn(folder)
    expect(after.slice(0, 3).every((text, index) => text !== before[index])).toBe(true)
    expect(after[3]).toBe(before[3])
    expect(await readFile(elsewhere, 'utf8')).toBe('mine')
    expect((await stat(secret)).mode & 0o777).toBe(0o600)
  })

  test('treats a broken link as an existing file', async () => {
    const folder = await temporaryFolder()
    await symlink(join(folder, 'nowhere'), join(folder, 'evroute.config.json'))
    expect(await initIn(folder)).toMatchObject({ code: 7 })
    expect(await readdir(folder)).toEqual(['evroute.config.json'])
  })

  test('lists the files in a record, without secrets', async () => {
    const folder = await temporaryFolder()
    const { records, stdout } = await initIn(folder, ['--json'])
    expect(records).toEqual([
      {
        v: 1,
        kind: 'init',
        config: configIn(folder),
        files: ['evroute.secrets/.gitignore', ...names, 'evroute.config.json'].map((name) =>
          join(folder, name),
        ),
      },
    ])
    for (const secret of (await textsIn(folder)).slice(0, 3)) {
      expect(stdout).not.toContain(secret.trimEnd())
    }
  })

  test('makes folders that another init makes at the same time', async () => {
    const folder = await temporaryFolder()
    const runs = Array.from({ length: 40 }, (_, index) =>
      initIn(join(folder, `shared_${index % 10}`, 'deep', String(index))),
    )
    const ended = await Promise.all(runs)
    expect(ended.filter(({ code }) => code !== 0)).toEqual([])
  })

  test('ends with 7 if it cannot write', async () => {
    const folder = await temporaryFolder()
    await writeFile(join(folder, 'file'), '')
    const { code, stderr } = await initIn(join(folder, 'file'))
    expect(code).toBe(7)
    expect(stderr).toContain('Check that its folder is writable.')
  })
})
