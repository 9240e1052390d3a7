import { readFile, stat } from 'node:fs/promises'
import { EvrouteError, SettingError } from '../model/index.ts'
import type { NamedSecret } from '../receiver/index.ts'
import { readReference, type ReferencedValue } from '../runtime/index.ts'
import { readBody } from './input.ts'
import type { Io } from './io.ts'

/** Reads `--secret` like {@link readGiven}. Falls back to EVROUTE_SECRET. */
export function readSecret(value: string | undefined, io: Io): Promise<string | undefined> {
  // An empty variable counts as unset.
  return readGiven(value ?? (io.env['EVROUTE_SECRET'] || undefined), io, '--secret')
}

/**
 * Reads the value of a flag: for `@file` the contents of the file, without the final line break; for `env:NAME` the
 * variable; otherwise the value itself. Throws a SettingError that names the flag, or `cannot_read_file`.
 */
export async function readGiven<Given extends string | undefined>(
  given: Given,
  io: Io,
  flag: string,
): Promise<string | Given> {
  if (given === undefined) return given
  // An empty secret would silently disable signatures.
  if (given === '') {
    const hint = 'Check the variable that it comes from.'
    throw new SettingError(flag, `Cannot use an empty ${flag}`, hint)
  }
  const referenced = await readReference(given, {
    env: io.env,
    readFile: async (path) => {
      if (!(await stat(path)).isFIFO()) return readFile(path, 'utf8')
      // Reading a pipe like a file would ignore Ctrl-C.
      return (await readBody(path, io)).toString()
    },
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

/** Like {@link readSecret}, but throws a SettingError if there is no secret. */
export async function requireSecret(value: string | undefined, io: Io): Promise<string> {
  const secret = await readSecret(value, io)
  if (secret !== undefined) return secret
  throw new SettingError(
    '--secret',
    'Cannot sign or verify without a secret',
    'Pass --secret or set EVROUTE_SECRET.',
  )
}

/** Reads the values of headers like {@link readGiven}, but a value may be empty. Errors name `flag`. */
export async function readHeaders(
  headers: Readonly<Record<string, string>> | undefined,
  io: Io,
  flag = '--header',
): Promise<Readonly<Record<string, string>>> {
  const read: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers ?? {})) {
    read[name] = value === '' ? '' : await readGiven(value, io, `${flag} ${name}`)
  }
  return read
}

/** Reads `--store` like {@link readGiven}. Falls back to EVROUTE_STORE. */
export function readStoreUrl(given: string | undefined, io: Io): Promise<string | undefined> {
  return readGiven(given ?? (io.env['EVROUTE_STORE'] || undefined), io, '--store')
}

/** Reads the secrets of the destinations in a configuration: a sender may use one of them by mistake. */
export async function readOtherSecrets(
  path: string | undefined,
  io: Io,
): Promise<readonly NamedSecret[]> {
  if (path === undefined) return []
  const { readFileOf } = await import('./configuration/read-for-command.ts')
  const { destinations } = await readFileOf(path, io)
  return destinations.flatMap(({ id, sharedSecret, standardWebhooks }) =>
    [sharedSecret, ...(standardWebhooks?.secrets ?? [])]
      .filter((secret) => secret !== undefined)
      .map((secret) => ({ name: `the destination ${id}`, secret })),
  )
}

function unreadable(
  flag: string,
  { source, named, because, cause }: Extract<ReferencedValue, { kind: 'unreadable' }>,
): EvrouteError {
  const message = `Cannot read ${flag} from ${named}: ${because}`
  if (source === 'variable') {
    return new SettingError(flag, message, 'Set the variable, or pass the value itself or @file.')
  }
  if (cause === undefined)
    return new SettingError(flag, message, 'Check the file or variable that it comes from.')
  const hint = 'If the value itself begins with @, put it in a variable and pass env:NAME.'
  return new EvrouteError({ code: 'cannot_read_file', message, hint, cause })
}
