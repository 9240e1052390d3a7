import { readFile } from 'node:fs/promises'
import { EvrouteError, SettingError } from '../model/index.ts'
import { readReference, type ReferencedValue } from '../runtime/index.ts'
import type { Io } from './io.ts'

/**
 * Reads a secret as it is given on the command line: the value itself, `@file` for the content of a file
 * without its final line break, or `env:NAME` for a variable. Without a value, EVROUTE_SECRET.
 *
 * @param flag - the flag that it is given with
 * @returns undefined when there is none
 * @throws SettingError for an empty secret or a variable that is not set, EvrouteError
 * `cannot_read_file`
 */
export async function readSecret(
  value: string | undefined,
  io: Io,
  flag = '--secret',
): Promise<string | undefined> {
  // An empty variable is as good as none; an empty flag would switch signatures off unnoticed.
  const given = value ?? (io.env['EVROUTE_SECRET'] || undefined)
  if (given === undefined) return undefined
  if (given === '') {
    const hint = 'Check where it comes from, or leave the flag out.'
    throw new SettingError(flag, `Cannot use an empty ${flag}`, hint)
  }
  const referenced = await readReference(given, {
    env: io.env,
    readFile: (path) => readFile(path, 'utf8'),
  })
  switch (referenced.kind) {
    case 'itself':
      return given
    case 'read':
      return referenced.value
    case 'unreadable':
      throw unreadable(flag, referenced)
  }
}

/**
 * Reads the secret of a command that cannot do without, as {@link readSecret} does.
 *
 * @throws SettingError also when there is none
 */
export async function requireSecret(value: string | undefined, io: Io): Promise<string> {
  const secret = await readSecret(value, io)
  if (secret !== undefined) return secret
  throw new SettingError(
    '--secret',
    'Cannot sign or verify without a secret',
    'Pass --secret or set EVROUTE_SECRET.',
  )
}

function unreadable(
  flag: string,
  { source, named, because, cause }: Extract<ReferencedValue, { kind: 'unreadable' }>,
): EvrouteError {
  const message = `Cannot read ${flag} from ${named}: ${because}`
  if (source === 'variable') {
    return new SettingError(flag, message, 'Set it, or give a value or @file.')
  }
  if (cause === undefined) return new SettingError(flag, message, 'Check where it comes from.')
  const hint = 'A value that begins with @ is given through env:NAME.'
  return new EvrouteError({ code: 'cannot_read_file', message, hint, cause })
}
