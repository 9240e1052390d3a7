import { SettingError } from '../../model/index.ts'
import type { Io } from '../io.ts'
import {
  readServicePlace,
  refuseTokenWithoutApi,
  type ServicePlace,
} from '../operations/service-place.ts'
import { readStoreUrl } from '../store-flag.ts'

/** Where a command finds deliveries: in a store, or in a running service. */
export type LogPlace =
  | {
      readonly kind: 'store'
      /** The URL of the store. It may contain a password. */
      readonly url: string
    }
  | ServicePlace

/** The flags that name a store or a service, from commander. */
export interface PlaceFlags {
  /** `--store` */
  readonly store?: string
  /** `--api` */
  readonly api?: string
  /** `--token` */
  readonly token?: string
}

/**
 * Reads which store or service a command works on: from the flags, else from EVROUTE_STORE.
 *
 * @throws SettingError if none or two are named; EvrouteError `cannot_read_file`
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
