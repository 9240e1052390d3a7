import type { AudienceReader } from '../../audience/index.ts'
import { MissingStoreError, openDeliveryLog, type StoreLog } from '../../store/index.ts'
import { regulationRecords, type RegulationRecords } from './asked-regulations.ts'

/** Readers of audiences and regulations. */
export interface OpenedReaders {
  readonly audiences: AudienceReader
  readonly regulations: RegulationRecords
}

/**
 * Opens a store for reading and runs the work. Another process may deliver from the store.
 *
 * @throws MissingStoreError if the store does not exist; EvrouteError `store_unusable`
 */
export async function withStoreReaders<Result>(
  url: string,
  work: (readers: OpenedReaders) => Promise<Result>,
): Promise<Result> {
  return workOnLog(await openDeliveryLog(url, { write: false }), work)
}

/**
 * Like {@link withStoreReaders}, but a store that does not exist counts as empty.
 *
 * @param missing - called if the store does not exist
 * @throws EvrouteError `store_unusable`
 */
export async function withPossibleStore<Result>(
  url: string,
  work: (readers: OpenedReaders) => Promise<Result>,
  missing: () => void = () => undefined,
): Promise<Result> {
  const log = await openPossibleLog(url)
  if (log !== undefined) return workOnLog(log, work)
  missing()
  return work(noReaders)
}

async function openPossibleLog(url: string): Promise<StoreLog | undefined> {
  try {
    return await openDeliveryLog(url, { write: false })
  } catch (error) {
    if (error instanceof MissingStoreError) return undefined
    throw error
  }
}

async function workOnLog<Result>(
  log: StoreLog,
  work: (readers: OpenedReaders) => Promise<Result>,
): Promise<Result> {
  try {
    return await work({
      audiences: log.audiences,
      regulations: regulationRecords(log.regulations),
    })
  } finally {
    await log.close()
  }
}

const noReaders: OpenedReaders = {
  audiences: { list: () => Promise.resolve([]), members: () => Promise.resolve([]) },
  regulations: { find: () => Promise.resolve(undefined), list: () => Promise.resolve([]) },
}
