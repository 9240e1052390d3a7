import type { Io } from './io.ts'
import { readSecret } from './secret.ts'

/** The values of `--store`, for help. */
export const storeForms = 'sqlite:<file>, postgres://..., env:NAME or @file'

/**
 * Reads the URL of the store from `--store` or EVROUTE_STORE. `env:NAME` and `@file` keep a password off the
 * command line.
 *
 * @returns undefined if neither is given
 * @throws SettingError for an empty value or an unset variable; EvrouteError `cannot_read_file`
 */
export function readStoreUrl(given: string | undefined, io: Io): Promise<string | undefined> {
  return readGivenStoreUrl(given ?? (io.env['EVROUTE_STORE'] || undefined), io)
}

/** Reads the URL in `--store` only, like {@link readStoreUrl}. */
export async function readGivenStoreUrl(
  given: string | undefined,
  io: Io,
): Promise<string | undefined> {
  return given === undefined ? undefined : readSecret(given, io, '--store')
}
