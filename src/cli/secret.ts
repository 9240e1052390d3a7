import { readFile } from 'node:fs/promises'
import { EvrouteError, messageOf, SettingError } from '../model/index.ts'
import type { Io } from './io.ts'

/**
 * Reads a shared secret as it is given on the command line: the value itself, `@file` for the content
 * of a file without its final line break, or `env:NAME` for a variable. Without a flag,
 * EVROUTE_SECRET.
 *
 * @returns undefined when there is none
 * @throws SettingError for an empty secret or a variable that is not set, EvrouteError
 * `cannot_read_file`
 */
export async function readSecret(flag: string | undefined, io: Io): Promise<string | undefined> {
  // An empty variable is as good as none; an empty flag would switch signatures off unnoticed.
  const given = flag ?? (io.env['EVROUTE_SECRET'] || undefined)
  if (given === undefined) return undefined
  if (given.startsWith('env:')) return secretFromVariable(given.slice('env:'.length), io)
  return given.startsWith('@') ? secretFromFile(given.slice(1)) : notEmpty(given)
}

/**
 * Reads the secret of a command that cannot do without, as {@link readSecret} does.
 *
 * @throws SettingError also when there is none
 */
export async function requireSecret(flag: string | undefined, io: Io): Promise<string> {
  const secret = await readSecret(flag, io)
  if (secret !== undefined) return secret
  throw new SettingError(
    '--secret',
    'Cannot sign or verify without a secret',
    'Pass --secret or set EVROUTE_SECRET.',
  )
}

function notEmpty(secret: string): string {
  if (secret !== '') return secret
  throw new SettingError(
    '--secret',
    'Cannot use an empty secret',
    'Check where it comes from, or leave it out to go without signatures.',
  )
}

function secretFromVariable(name: string, io: Io): string {
  const value = io.env[name]
  if (value !== undefined && value !== '') return value
  throw new SettingError(
    'secret',
    `Cannot read the secret: the environment variable ${name} is not set`,
    `Set it, or give the secret as a value or as @file.`,
  )
}

async function secretFromFile(path: string): Promise<string> {
  let secret: string
  try {
    const text = await readFile(path, 'utf8')
    secret = text.replace(/\r?\n$/, '')
  } catch (error) {
    throw new EvrouteError({
      code: 'cannot_read_file',
      message: `Cannot read the secret from ${path}: ${messageOf(error)}`,
      hint: 'A secret that begins with @ is given through env:NAME.',
      cause: error,
    })
  }
  return notEmpty(secret)
}
