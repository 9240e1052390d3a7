import type { Command } from 'commander'
import { checkUrl, SettingError } from '../../model/index.ts'
import { defaultConfigurationPath } from '../flags.ts'
import type { Io } from '../io.ts'
import { readSecret, readStoreUrl, storeForms } from '../secret.ts'

/** The flags of every command that works on a store or a service, from commander. */
export interface AccessFlags {
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

/** A store. */
export interface StoreAccess {
  /** Distinguishes it from a service. */
  readonly kind: 'store'
  /** The configuration that names the store. */
  readonly path: string
  /** Whether `--config` names the configuration. */
  readonly isPathGiven: boolean
  /** The URL of another store than the configured one. It may contain a password. */
  readonly storeUrl: string | undefined
}

/** A running service. */
export interface ServiceAccess {
  /** Distinguishes it from a store. */
  readonly kind: 'service'
  /** The URL of its admin API. */
  readonly url: string
  /** The admin token. */
  readonly token: string
}

/** The store or service that a command works on. */
export type Access = StoreAccess | ServiceAccess

/** Adds the flags that name a store. */
export function addStoreFlags(command: Command): Command {
  return command
    .option('--config <file>', `the configuration (default: ${defaultConfigurationPath})`)
    .option(
      '--store <url>',
      `a store other than that of the configuration: ${storeForms}; also EVROUTE_STORE`,
    )
}

/** Adds the flags of every command that works on a store or a service. */
export function addAccessFlags(command: Command): Command {
  return addStoreFlags(command)
    .option('--api <url>', 'a running service instead: the URL of its admin API')
    .option(
      '--token <token>',
      'its admin token: a value, env:NAME or @file; also EVROUTE_ADMIN_TOKEN',
    )
    .option('--json', 'NDJSON records on stdout')
    .option('--no-color', 'no colours')
}

/**
 * Reads which store or service the flags name: the service of `--api`, else the store of `--store` or
 * EVROUTE_STORE, else the store of the configuration.
 *
 * @throws SettingError for flags that exclude each other, or an invalid URL or token; EvrouteError
 * `cannot_read_file`
 */
export async function readAccess(flags: Omit<AccessFlags, 'color'>, io: Io): Promise<Access> {
  const { config, store, api, token } = flags
  if (api === undefined) {
    if (token !== undefined) {
      throw new SettingError('--token', 'Cannot use --token without --api')
    }
    return {
      kind: 'store',
      path: config ?? defaultConfigurationPath,
      isPathGiven: config !== undefined,
      storeUrl: await readStoreUrl(store, io),
    }
  }
  if (config !== undefined || store !== undefined) {
    const other = config === undefined ? '--store' : '--config'
    throw new SettingError('--api', `Cannot use --api together with ${other}`)
  }
  return { kind: 'service', url: checkUrl('--api', api), token: await readToken(token, io) }
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
