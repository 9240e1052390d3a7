import { randomBytes } from 'node:crypto'
import { access, lstat, mkdir, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { EvrouteError, messageOf, plainText, systemCode, recordLine } from '../../model/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { writeData, type Io } from '../io.ts'
import { defaultConfigurationPath } from './path.ts'
import { installedSchema, nextSteps, secretsFolderName, starterConfiguration } from './starter.ts'

/** What a starter is made of. */
export interface InitOptions {
  /** The configuration's file. */
  readonly path: string
  /** Replace files that are there. */
  readonly force: boolean
  /** A record instead of text. */
  readonly json: boolean
}

/** A file to write. */
interface NewFile {
  readonly path: string
  readonly text: string
  readonly isSecret: boolean
}

/**
 * Writes a starter configuration and, beside it, new random secrets, in files of their own so that the
 * configuration can be shared.
 *
 * @throws EvrouteError `cannot_write_file`, also when one of the files is there already; then none of
 *   them is touched
 */
export async function init({ path, force, json }: InitOptions, io: Io): Promise<ExitCode> {
  const folder = dirname(path)
  const secretsFolder = join(folder, secretsFolderName)
  const configuration = { ...starterConfiguration, ...(await schemaFor(folder)) }
  const files = [
    ...secretFiles(secretsFolder),
    // Last, so that there is no configuration without its secrets.
    { path, text: `${JSON.stringify(configuration, null, 2)}\n`, isSecret: false },
  ]
  // The configuration is looked for first: its name says most.
  if (!force) await refuseReplacing(files.toReversed())
  for (const file of files) await writeNew(file, force)
  const paths = files.map((file) => file.path)
  const isFoundBySelf = folder === '.' && basename(path) === defaultConfigurationPath
  await writeData(
    io,
    json
      ? recordLine({ kind: 'init', config: path, files: paths })
      : `${paths.map((each) => `wrote ${plainText(each)}\n`).join('')}${nextSteps({
          configuration: isFoundBySelf ? undefined : path,
          secretsFolder,
        })}`,
  )
  return exitCodes.ok
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

/** Where editors find the schema: in the package of the project that the folder is in, as Node finds it. */
async function schemaFor(folder: string): Promise<{ readonly $schema?: string }> {
  const from = resolve(folder)
  for (let above = from; ; above = dirname(above)) {
    const schema = join(above, installedSchema)
    if (await isThere(schema)) {
      const path = relative(from, schema).split(sep).join('/')
      return { $schema: path.startsWith('.') ? path : `./${path}` }
    }
    // Not installed yet: then it will most likely be beside the configuration.
    if (above === dirname(above)) return {}
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

function randomText(bytes: number): string {
  return randomBytes(bytes).toString('base64url')
}

async function refuseReplacing(files: readonly NewFile[]): Promise<void> {
  for (const { path } of files) {
    // Not what a link leads to: the link itself is there.
    const isThere = await lstat(path).then(
      () => true,
      () => false,
    )
    if (isThere) throw thereAlready(path)
  }
}

function thereAlready(path: string): EvrouteError {
  return new EvrouteError({
    code: 'cannot_write_file',
    message: `Cannot write ${path}: it is there already`,
    hint: 'Pass --force to replace it and everything that belongs to it, secrets too.',
  })
}

async function writeNew({ path, text, isSecret }: NewFile, force: boolean): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true })
    // Written over, a file would keep who may read it, and a link would lead elsewhere.
    if (force) await rm(path, { force: true })
    await writeFile(path, text, { flag: 'wx', mode: isSecret ? 0o600 : 0o644 })
  } catch (error) {
    if (systemCode(error) === 'EEXIST') throw thereAlready(path)
    throw new EvrouteError({
      code: 'cannot_write_file',
      message: `Cannot write ${path}: ${messageOf(error)}`,
      hint: 'Check that its folder can be written to.',
      cause: error,
    })
  }
}
