import type { Command } from 'commander'
import { SettingError } from '../../model/index.ts'
import { defaultConfigurationPath } from '../configuration/path.ts'
import type { Io } from '../io.ts'
import { readStoreUrl, storeForms } from '../store-flag.ts'
import { readServicePlace, refuseTokenWithoutApi, type ServicePlace } from './service-place.ts'

/** The flags of every command about audiences and regulations, from commander. */
export interface OperationsFlags {
  /** `--config` */
  readonly config?: string
  /** `--store` */
  readonly store?: string
  /** `--api` */
  readonly api?: string
  /** `--token` */
  readonly token?: string
  /** `--json` */
  readonly json?: boolean
  /** `--no-color` */
  readonly color: boolean
}

/** A configuration decides where the work runs. */
export interface ConfiguredPlace {
  /** Distinguishes it from a service. */
  readonly kind: 'configured'
  /** Path of the configuration file. */
  readonly path: string
  /** The URL of another store than the configured one. */
  readonly storeUrl: string | undefined
}

/** Where the work runs: as a configuration decides, or in a service. */
export type OperationsPlace = ConfiguredPlace | ServicePlace

/** Adds the flags of every command about audiences and regulations. */
export function addOperationsFlags(command: Command): Command {
  return command
    .option('--config <file>', `the configuration (default: ${defaultConfigurationPath})`)
    .option(
      '--store <url>',
      `a store other than that of the configuration: ${storeForms}; also EVROUTE_STORE`,
    )
    .option('--api <url>', 'a running service instead: the URL of its admin API')
    .option(
      '--token <token>',
      'its admin token: a value, env:NAME or @file; also EVROUTE_ADMIN_TOKEN',
    )
    .option('--json', 'NDJSON records on stdout')
    .option('--no-color', 'no colours')
}

/**
 * Reads where the work runs.
 *
 * @throws SettingError for flags that exclude each other; EvrouteError `cannot_read_file`
 */
export async function readOperationsPlace(
  { config, store, api, token }: OperationsFlags,
  io: Io,
): Promise<OperationsPlace> {
  if (api === undefined) {
    refuseTokenWithoutApi(token)
    return {
      kind: 'configured',
      path: config ?? defaultConfigurationPath,
      storeUrl: await readStoreUrl(store, io),
    }
  }
  const other = config === undefined ? '--store' : '--config'
  if (config !== undefined || store !== undefined) {
    throw new SettingError('--api', `Cannot use --api together with ${other}`)
  }
  return readServicePlace({ api, token }, io)
}
