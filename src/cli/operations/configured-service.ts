import { EvrouteError, SettingError } from '../../model/index.ts'
import type { Configuration } from '../../service/index.ts'
import { storeName } from '../../store/index.ts'
import { readAudiences } from './read-records.ts'
import { ServiceApi } from './service-api.ts'

/** Why the service of a configuration is asked. */
export interface WhyAsked {
  /** What keeps the command from doing it itself, as the beginning of a sentence. */
  readonly because: string
  /** What to do where no service can be asked. */
  readonly hint: string
}

/** Why a service has to be asked where the store is in memory. */
export const inMemory: WhyAsked = {
  because: 'The store is memory:, where a command forgets all that it does when it ends',
  hint: 'Start `evroute serve` with an admin API, or name a store that lasts: --store sqlite:<file> or postgres://...',
}

/** Why a service has to be asked where another process delivers from the store. */
export function inUse(storeUrl: string): WhyAsked {
  return {
    because: `Another process delivers from ${storeName(storeUrl)}`,
    hint: 'Where that is a service, name its admin API with --api and --token; else run this again once it has ended.',
  }
}

/**
 * The running service of a configuration, once it has answered.
 *
 * @throws EvrouteError `store_in_use` where none can be asked; SettingError where what answers is none,
 * or has another token
 */
export async function askConfiguredService(
  { admin }: Pick<Configuration, 'admin'>,
  { because, hint }: WhyAsked,
  stop: AbortSignal,
): Promise<ServiceApi> {
  const refuse = (why: string, cause?: unknown): EvrouteError =>
    new EvrouteError({ code: 'store_in_use', message: `${because}, ${why}`, hint, cause })
  if (admin === undefined) throw refuse('and the configuration has no admin API to ask')
  if (admin.port === 0) throw refuse('and the admin API of the configuration has any free port')
  const url = `http://127.0.0.1:${admin.port}/`
  const api = new ServiceApi({ kind: 'service', url, token: admin.token }, stop)
  try {
    await api.read({ path: 'v1/audiences' }, readAudiences)
    return api
  } catch (error) {
    const isSilent = error instanceof EvrouteError && !(error instanceof SettingError)
    if (!isSilent) throw error
    throw refuse(`and no service answers at ${url}`, error)
  }
}
