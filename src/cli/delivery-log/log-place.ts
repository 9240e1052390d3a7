import { SettingError } from '../../model/index.ts'
import type { Io } from '../io.ts'
import {
  readServicePlace,
  refuseTokenWithoutApi,
  type ServicePlace,
} from '../operations/service-place.ts'
import { readStoreUrl } from '../store-flag.ts'

/** Where deliveries are looked at: in a store, or in a service that is asked. */
export type LogPlace =
  | {
      readonly kind: 'store'
      /** Its URL, which may have a password in it. */
      readonly url: string
    }
  | ServicePlace

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
  const { store, api, token } = flags
  if (api === undefined) return { kind: 'store', url: await storeUrl(flags, io) }
  if (store !== undefined) {
    throw new SettingError('--api', 'Cannot use --api together with --store')
  }
  return readServicePlace({ api, token }, io)
}

async function storeUrl({ store, token }: PlaceFlags, io: Io): Promise<string> {
  refuseTokenWithoutApi(token)
  const url = await readStoreUrl(store, io)
  if (url !== undefined) return url
  throw new SettingError(
    '--store',
    'Cannot tell which store is meant',
    'Pass --store sqlite:<file> or postgres://..., or set EVROUTE_STORE; a running service is asked with --api <url>.',
  )
}
