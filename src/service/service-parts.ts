import type { RequestListener } from 'node:http'
import { availableParallelism } from 'node:os'
import { adminConnectionLimits, adminFaultAnswer } from '../admin-api/index.ts'
import { listen, TlsFiles, type ListenAddress, type Listening } from '../http/index.ts'
import { EvrouteError, SettingError, type TlsPaths } from '../model/index.ts'
import type { Log } from '../runtime/index.ts'
import { openStore, type OpenStoreOptions, type Store } from '../store/index.ts'
import { trackingFaultAnswer } from '../tracking-api/index.ts'
import { SenderThreads } from '../webhook/index.ts'
import type { ServiceOptions } from './service-options.ts'

/** Opens a service's store. Throws a SettingError for `ingest` or `deliver` if other processes can't use the store. */
export async function openServiceStore(
  { configuration, role = 'all' }: ServiceOptions,
  options: OpenStoreOptions,
): Promise<Store> {
  // A full store in memory would make clients wait. Lift its limit, because a service refuses their calls instead.
  const bounds = { pendingMax: Infinity }
  const store = await openStore(configuration.store, { ...options, ownThread: true, bounds })
  if (role === 'all' || store.processes !== undefined) return store
  await store.close()
  throw new SettingError(
    'role',
    `Cannot run with the role ${role}: no other process can use the store`,
    'Set store to a postgres:// URL, or leave the role out.',
  )
}

/** With fewer cores, a sender thread would share one with the main thread, the store's thread or the system. */
const coresMin = 4

/**
 * Returns the threads that send a service's webhooks; undefined if the main thread does. If `configured` is null,
 * returns one thread, or none on a machine with fewer than four cores.
 */
export function senderThreads(configured: number | null): SenderThreads | undefined {
  const threadsMax = configured ?? (availableParallelism() >= coresMin ? 1 : 0)
  return threadsMax === 0 ? undefined : new SenderThreads(threadsMax)
}

/** How each port answers malformed requests, and the limits of its connections. */
const portOptions = {
  listen: { answerFault: trackingFaultAnswer },
  admin: { answerFault: adminFaultAnswer, ...adminConnectionLimits },
}

/** Opens a port of a service. Throws `port_in_use`, `cannot_listen`, or `cannot_read_file` for a certificate. */
export async function listenFor(
  setting: 'listen' | 'admin',
  handler: RequestListener,
  {
    tls: paths,
    log,
    ...address
  }: ListenAddress & { readonly tls?: TlsPaths | undefined; readonly log: Log },
): Promise<Listening> {
  const tls = paths && (await TlsFiles.open(paths, log))
  try {
    return await listen(handler, address, { ...portOptions[setting], tls, log })
  } catch (error) {
    if (!(error instanceof EvrouteError) || error.code !== 'port_in_use') throw error
    const { code, message } = error
    const hint = `Set ${setting}.port to a different port, or to 0 for a free one.`
    throw new EvrouteError({ code, message, hint, cause: error })
  }
}
