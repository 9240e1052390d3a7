import { checkUrl, EvrouteError, SettingError, systemCode } from '../../model/index.ts'
import type { Configuration } from '../../service/index.ts'
import { flag, option, type ValuesOf } from '../command.ts'
import { defaultConfigurationPath } from '../flags.ts'
import type { Io } from '../io.ts'
import { readGiven, readStoreUrl, storeForms } from '../secret.ts'
import type { ServiceApi } from './service-api.ts'

/** A store. */
export interface StoreAccess {
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
  readonly kind: 'service'
  readonly url: string
  readonly token: string
}

/** The store or service that a command works on. */
export type Access = StoreAccess | ServiceAccess

/** The options that name a store. */
export const storeOptions = {
  config: option('--config <file>', `the configuration (default: ${defaultConfigurationPath})`),
  store: option(
    '--store <url>',
    `the store, instead of the configured one: ${storeForms}; also EVROUTE_STORE`,
  ),
}

/** The options that name a store or a service. */
export const targetOptions = {
  ...storeOptions,
  api: option('--api <url>', 'a running service instead: the URL of its admin API'),
  token: option(
    '--token <token>',
    'its admin token: a value, env:NAME or @file; also EVROUTE_ADMIN_TOKEN',
  ),
}

/** The options of every command that works on a store or a service. */
export const accessOptions = {
  ...targetOptions,
  json: flag('--json', 'write NDJSON records to stdout'),
  color: flag('--no-color', 'print without colours'),
}

/** The values of {@link targetOptions}. */
export type TargetValues = ValuesOf<typeof targetOptions>

/** The values of {@link accessOptions}. */
export type AccessValues = ValuesOf<typeof accessOptions>

/**
 * Reads which store or service the options name: the service of `--api`, else the store of `--store` or
 * EVROUTE_STORE, else the store of the configuration.
 */
export async function readAccess(values: TargetValues, io: Io): Promise<Access> {
  const { config, store, api, token } = values
  if (api === undefined) {
    if (token !== undefined) {
      throw new SettingError('--token', 'Cannot use --token without --api')
    }
    return readStoreAccess(values, io)
  }
  if (config !== undefined || store !== undefined) {
    const other = config === undefined ? '--store' : '--config'
    throw new SettingError('--api', `Cannot use --api together with ${other}`)
  }
  return { kind: 'service', url: checkUrl('--api', api), token: await readToken(token, io) }
}

/** Reads which store the options name: that of `--store` or EVROUTE_STORE, else that of the configuration. */
export async function readStoreAccess(
  { config, store }: Pick<TargetValues, 'config' | 'store'>,
  io: Io,
): Promise<StoreAccess> {
  return {
    kind: 'store',
    path: config ?? defaultConfigurationPath,
    isPathGiven: config !== undefined,
    storeUrl: await readStoreUrl(store, io),
  }
}

async function readToken(token: string | undefined, io: Io): Promise<string> {
  const given = (token ?? io.env['EVROUTE_ADMIN_TOKEN']) || undefined
  const read = await readGiven(given, io, '--token')
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
    'Check the file or variable that it comes from.',
  )
}

/** The store or service that {@link readAccess} names. */
type Target =
  | { readonly kind: 'service'; readonly api: ServiceApi }
  | {
      readonly kind: 'store'
      readonly url: string
      /** Whether a flag or EVROUTE_STORE names the store. If false, the configuration does. */
      readonly isNamed: boolean
    }

/**
 * Finds the store or the service that a command works on. If the configured store is in memory, that is the
 * configured service.
 *
 * @param configuration - of commands that need more of it than the store
 */
export async function findTarget(
  access: Access,
  io: Io,
  configuration?: Configuration,
): Promise<Target> {
  if (access.kind === 'service') {
    // Import on demand: commands on a store don't need a client.
    const { ServiceApi } = await import('./service-api.ts')
    return { kind: 'service', api: new ServiceApi(access, io.stop) }
  }
  const { storeUrl, isPathGiven } = access
  const isNamed = storeUrl !== undefined && (storeUrl !== 'memory:' || !isPathGiven)
  if (isNamed && configuration === undefined) return { kind: 'store', url: storeUrl, isNamed }
  const read = configuration ?? (await readConfigurationOf(access, io))
  const url = storeUrl ?? read.store
  if (url !== 'memory:') return { kind: 'store', url, isNamed }
  const { askConfiguredService, inMemory } = await import('./configured-service.ts')
  return { kind: 'service', api: await askConfiguredService(read, inMemory, io.stop) }
}

/** Returns the URL of the store that the flags name, else that of the configuration. */
export async function storeUrlOf(access: StoreAccess, io: Io): Promise<string> {
  return access.storeUrl ?? (await readConfigurationOf(access, io)).store
}

async function readConfigurationOf(
  { path, isPathGiven }: StoreAccess,
  io: Io,
): Promise<Configuration> {
  const { readFileOf } = await import('../configuration/read-for-command.ts')
  try {
    return await readFileOf(path, io)
  } catch (error) {
    const cause = error instanceof EvrouteError ? error.cause : undefined
    if (isPathGiven || systemCode(cause) !== 'ENOENT') throw error
    throw new SettingError(
      '--store',
      `Cannot tell which store is meant: there is no ${path} here`,
      'Pass --store sqlite:<file> or postgres://..., or set EVROUTE_STORE; a running service is asked with --api <url>.',
    )
  }
}
