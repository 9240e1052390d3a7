import { randomBytes } from 'node:crypto'
import { access, lstat, mkdir, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import {
  EvrouteError,
  plainText,
  systemCode,
  recordLine,
  type JsonObject,
} from '../../model/index.ts'
import type { InitValues } from '../commands/service.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { defaultConfigurationPath } from '../flags.ts'
import { writeData, type Io } from '../io.ts'
import { programName, shellWord } from '../output/command-line.ts'
import { cannotWrite } from '../output/error.ts'

interface NewFile {
  readonly path: string
  readonly text: string
  readonly isSecret: boolean
}

/** Writes a starter configuration without secrets, and files with new random secrets beside it. */
export async function init({ path, force, full, json }: InitValues, io: Io): Promise<ExitCode> {
  const folder = dirname(path)
  const secretsFolder = join(folder, secretsFolderName)
  const configuration = { ...starterConfiguration, ...(await schemaFor(folder)) }
  const files = [
    ...secretFiles(secretsFolder),
    // Last, so that a configuration never exists without its secrets.
    { path, text: await textOf(configuration, full), isSecret: false },
  ]
  // Check the configuration first, so that the error names the file that users know.
  for (const file of force ? [] : files.toReversed()) {
    // Check the link itself, not its target.
    if (await isThere(file.path, lstat)) throw thereAlready(file.path)
  }
  for (const file of files) await writeNew(file, force)
  const paths = files.map((file) => file.path)
  if (json) await writeData(io, recordLine({ kind: 'init', config: path, files: paths }))
  else {
    const isDefault = folder === '.' && basename(path) === defaultConfigurationPath
    const steps = nextSteps(programName(io), secretsFolder, isDefault ? undefined : path)
    await writeData(io, `${paths.map((each) => `wrote ${plainText(each)}\n`).join('')}${steps}`)
  }
  return exitCodes.ok
}

async function textOf(configuration: JsonObject, full: boolean): Promise<string> {
  if (!full) return `${JSON.stringify(configuration, null, 2)}\n`
  const { fullConfiguration } = await import('./full-configuration.ts')
  const { configurationSchema } = await import('../../service/index.ts')
  return fullConfiguration(configuration, await configurationSchema())
}

function secretFiles(secretsFolder: string): readonly NewFile[] {
  const secret = (name: string, value: string): NewFile => ({
    path: join(secretsFolder, name),
    text: `${value}\n`,
    isSecret: true,
  })
  return [
    { path: join(secretsFolder, '.gitignore'), text: '*\n', isSecret: false },
    secret('write-key', `wk_${randomText(18)}`),
    secret('shared-secret', randomText(32)),
    secret('admin-token', randomText(32)),
  ]
}

/** Finds the JSON schema of the installed package in this folder or above, where Node looks for packages. */
async function schemaFor(folder: string): Promise<{ readonly $schema?: string }> {
  const from = resolve(folder)
  for (let above = from; ; above = dirname(above)) {
    const schema = join(above, installedSchema)
    if (await isThere(schema)) {
      const path = relative(from, schema).split(sep).join('/')
      return { $schema: path.startsWith('.') ? path : `./${path}` }
    }
    // The package is not installed yet. Keep the default path: npm will put the schema there.
    if (above === dirname(above)) return {}
  }
}

/** @param look - rejects if the path does not exist */
function isThere(
  path: string,
  look: (path: string) => Promise<unknown> = access,
): Promise<boolean> {
  return look(path).then(
    () => true,
    () => false,
  )
}

function randomText(bytes: number): string {
  return randomBytes(bytes).toString('base64url')
}

function thereAlready(path: string): EvrouteError {
  return new EvrouteError({
    code: 'cannot_write_file',
    message: `Cannot write ${path}: it already exists`,
    hint: 'Pass --force to replace it and the other files of the configuration, including the secrets.',
  })
}

async function writeNew({ path, text, isSecret }: NewFile, force: boolean): Promise<void> {
  try {
    await makeFolder(dirname(path))
    // Remove first: overwriting would keep the old permissions, or follow a link.
    if (force) await rm(path, { force: true })
    await writeFile(path, text, { flag: 'wx', mode: isSecret ? 0o600 : 0o644 })
  } catch (error) {
    if (systemCode(error) === 'EEXIST') throw thereAlready(path)
    throw cannotWrite(`Cannot write ${path}`, 'Check that its folder is writable.', error)
  }
}

/** Makes a folder and those above it. In /proc, the `recursive` of mkdir would never end. */
async function makeFolder(path: string): Promise<void> {
  const above = dirname(path)
  if ((await isThere(path)) || above === path) return
  await makeFolder(above)
  await mkdir(path).catch((error: unknown) => {
    // Another process may have made it meanwhile.
    if (systemCode(error) !== 'EEXIST') throw error
  })
}

const secretsFolderName = 'evroute.secrets'

const installedSchema = 'node_modules/evroute/dist/evroute.config.schema.json'

/** A starter configuration: one source, and one destination at the address of `evroute listen`. */
export const starterConfiguration: JsonObject = Object.freeze({
  $schema: `./${installedSchema}`,
  listen: { host: '127.0.0.1', port: 4_000 },
  admin: { port: 4_001, token: `@${secretsFolderName}/admin-token` },
  store: 'sqlite:./evroute.db',
  network: { allow: ['127.0.0.0/8', '::1/128'] },
  sources: [{ id: 'website', writeKeys: [`@${secretsFolderName}/write-key`], enabled: true }],
  destinations: [
    {
      id: 'crm',
      type: 'Webhooks',
      sources: ['website'],
      endpoints: [{ url: 'http://127.0.0.1:4100/', headers: { 'X-Team': 'growth' } }],
      sharedSecret: `@${secretsFolderName}/shared-secret`,
      enabled: true,
    },
  ],
})

/** @param configuration - the path for `serve --config`; undefined if `serve` needs none */
function nextSteps(
  program: string,
  secretsFolder: string,
  configuration: string | undefined,
): string {
  const secret = shellWord(`@${secretsFolder}/shared-secret`)
  const writeKey = `$(cat ${shellWord(`${secretsFolder}/write-key`)})`
  const config = configuration === undefined ? '' : ` --config ${shellWord(configuration)}`
  return `
The configuration has one destination, ready to use. Change it as you like:
  type, sources    Webhooks, with the events of the source "website"
  endpoints        up to five URLs; this one is the address of \`listen\`
  headers          optional, static, for each URL: X-Team
  sharedSecret     optional: signs every webhook in X-Signature
  enabled          true: everything from the source is forwarded

Try it, in three terminals:
  ${program} listen --secret ${secret}
  ${program} serve${config}
  curl -u "${writeKey}:" -d '{"userId":"u_1","event":"Order Completed"}' http://127.0.0.1:4000/v1/track

\`${program} config${config}\` shows every setting in force.
`
}
