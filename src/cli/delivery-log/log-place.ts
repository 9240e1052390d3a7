import { checkUrl } from '../../http/index.ts'
import { SettingError } from '../../model/index.ts'
import type { Io } from '../io.ts'
import { readSecret } from '../secret.ts'

/** Where deliveries are looked at: in a store, or in a service that is asked. */
export type LogPlace =
  | {
      readonly kind: 'store'
      /** What `--store` takes. */
      readonly url: string
    }
  | {
      readonly kind: 'service'
      /** The URL of its admin API. */
      readonly url: string
      /** What the API wants to be shown. */
      readonly token: string
    }

/** The flags that name a place, as commander hands them over. */
export interface PlaceFlags {
  /** `--store` */
  readonly store?: string
  /** `--api` */
  readonly api?: string
  /** `--token` */
  readonly token?: string
}

/**
 * The place that a command is about: what a flag names, else EVROUTE_STORE.
 *
 * @throws SettingError when none is named, or two are; EvrouteError `cannot_read_file`
 */
export async function readPlace(flags: PlaceFlags, io: Io): Promise<LogPlace> {
  const { store, api } = flags
  if (api === undefined) return { kind: 'store', url: storeUrl(flags, io) }
  if (store !== undefined) {
    throw new SettingError('--api', 'Cannot use --api together with --store')
  }
  return { kind: 'service', url: checkUrl('--api', api), token: await readToken(flags, io) }
}

function storeUrl({ store, token }: PlaceFlags, { env }: Io): string {
  if (token !== undefined) {
    throw new SettingError('--token', 'Cannot use --token without --api')
  }
  const url = store ?? (env['EVROUTE_STORE'] || undefined)
  if (url !== undefined) return url
  throw new SettingError(
    '--store',
    'Cannot tell which store is meant',
    'Pass --store sqlite:<file> or set EVROUTE_STORE; a running service is asked with --api <url>.',
  )
}

async function readToken({ token }: PlaceFlags, io: Io): Promise<string> {
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
