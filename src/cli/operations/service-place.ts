import { checkUrl, SettingError } from '../../model/index.ts'
import type { Io } from '../io.ts'
import { readSecret } from '../secret.ts'

/** A running service. */
export interface ServicePlace {
  /** Distinguishes it from a store. */
  readonly kind: 'service'
  /** The URL of its admin API. */
  readonly url: string
  /** The admin token. */
  readonly token: string
}

/**
 * The service that `--api` names, and its token from `--token` or EVROUTE_ADMIN_TOKEN.
 *
 * @throws SettingError for an invalid URL or token; EvrouteError `cannot_read_file`
 */
export async function readServicePlace(
  { api, token }: { readonly api: string; readonly token?: string | undefined },
  io: Io,
): Promise<ServicePlace> {
  return { kind: 'service', url: checkUrl('--api', api), token: await readToken(token, io) }
}

/**
 * Refuses `--token` without `--api`.
 *
 * @throws SettingError
 */
export function refuseTokenWithoutApi(token: string | undefined): void {
  if (token === undefined) return
  throw new SettingError('--token', 'Cannot use --token without --api')
}

async function readToken(token: string | undefined, io: Io): Promise<string> {
  const given = (token ?? io.env['EVROUTE_ADMIN_TOKEN']) || undefined
  const read = given === undefined ? undefined : await readSecret(given, io, '--token')
  if (read === undefined) {
    throw new SettingError(
      '--token',
      'Cannot ask the service without its admin token',
      'Pass --token <value>, env:NAME or @file, or set EVROUTE_ADMIN_TOKEN.',
    )
  }
  if (!/\p{Cc}/u.test(read)) return read
  throw new SettingError(
    '--token',
    'Cannot use the admin token: it has a line break or another control character',
    'Check where it comes from.',
  )
}
