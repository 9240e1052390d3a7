import { readFile } from 'node:fs/promises'
import { EvrouteError, messageOf, SettingError } from '../model/index.ts'
import type { Io } from './io.ts'

/**
 * Reads a shared secret as it is given on the command line: the value itself, `@file` for the content
 * of a file without its final line break, or `env:NAME` for a variable. Without a flag,
 * EVROUTE_SECRET.
 *
 * @returns undefined when there is none
 * @throws SettingError for a variable that is not set, EvrouteError `cannot_read_file`
 */
export async function readSecret(flag: string | undefined, io: Io): Promise<string | undefined> {
  const given = flag ?? io.env['EVROUTE_SECRET']
  if (given === undefined || given === '') return undefined
  if (given.startsWith('env:')) return secretFromVariable(given.slice('env:'.length), io)
  if (given.startsWith('@')) return secretFromFile(given.slice(1))
  return given
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
  try {
    const text = await readFile(path, 'utf8')
    return text.replace(/\r?\n$/, '')
  } catch (error) {
    throw new EvrouteError({
      code: 'cannot_read_file',
      message: `Cannot read the secret from ${path}: ${messageOf(error)}`,
      hint: 'A secret that begins with @ is given through env:NAME.',
      cause: error,
    })
  }
}
