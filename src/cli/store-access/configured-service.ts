import { EvrouteError, SettingError } from '../../model/index.ts'
import type { Configuration } from '../../service/index.ts'
import { storeName } from '../../store/index.ts'
import { ServiceApi } from './service-api.ts'

/** Why a command asks the configured service instead of working itself. */
export interface WhyAsked {
  /** Why the command cannot do the work itself, as the beginning of a sentence. */
  readonly because: string
  /** What to do if no service answers. */
  readonly hint: string
}

/** For a store in memory. */
export const inMemory: WhyAsked = {
  because: 'The store is memory:, so everything that a command does is lost when it ends',
  hint: 'Start `evroute serve` with an admin API, or name a store that lasts: --store sqlite:<file> or postgres://...',
}

/** For a store that another process delivers from. */
export function inUse(storeUrl: string): WhyAsked {
  return {
    because: `Another process delivers from ${storeName(storeUrl)}`,
    hint: 'If it is a service, name its admin API with --api and --token. Otherwise, run this again when it has ended.',
  }
}

/**
 * Connects to the running service of a configuration.
 *
 * @throws EvrouteError `store_in_use` if there is none; SettingError if something else answers, or the
 * service has another token
 */
export async function askConfiguredService(
  { admin }: Pick<Configuration, 'admin'>,
  { because, hint }: WhyAsked,
  stop: AbortSignal,
): Promise<ServiceApi> {
  const refuse = (why: string, cause?: unknown): EvrouteError =>
    new EvrouteError({ code: 'store_in_use', message: `${because}, ${why}`, hint, cause })
  if (admin === undefined) throw refuse('and the configuration has no admin API to ask')
  if (admin.port === 0)
    throw refuse('and the admin API of the configuration uses a random free port')
  if (admin.tls !== undefined)
    throw refuse('and its admin API uses https, whose host name the configuration does not tell')
  const url = `http://127.0.0.1:${admin.port}/`
  const api = new ServiceApi({ kind: 'service', url, token: admin.token }, stop)
  try {
    await api.read({ path: 'v1/audiences' }, 'audiences')
    return api
  } catch (error) {
    const isSilent = error instanceof EvrouteError && !(error instanceof SettingError)
    throw isSilent ? refuse(`and no service answers at ${url}`, error) : error
  }
}
