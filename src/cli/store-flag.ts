import type { Io } from './io.ts'
import { readSecret } from './secret.ts'

/** What `--store` takes, for its help. */
export const storeForms = 'sqlite:<file>, postgres://..., env:NAME or @file'

/**
 * The URL of the store that `--store` names, for commands that also take EVROUTE_STORE: itself, or what
 * `env:NAME` or `@file` stands for, so that a password need not be on the command line.
 *
 * @returns undefined where neither names one
 * @throws SettingError for an empty one or a variable that is not set; EvrouteError `cannot_read_file`
 */
export function readStoreUrl(given: string | undefined, io: Io): Promise<string | undefined> {
  return readGivenStoreUrl(given ?? (io.env['EVROUTE_STORE'] || undefined), io)
}

/** Reads what `--store` names, and nothing else, as {@link readStoreUrl} does. */
export async function readGivenStoreUrl(
  given: string | undefined,
  io: Io,
): Promise<string | undefined> {
  return given === undefined ? undefined : readSecret(given, io, '--store')
}
