import type { AudienceReader } from '../../audience/index.ts'
import { MissingStoreError, openDeliveryLog, type StoreLog } from '../../store/index.ts'
import { regulationRecords, type RegulationRecords } from './asked-regulations.ts'

/** What is known of audiences and regulations. */
export interface OpenedReaders {
  /** Audiences and computed traits. */
  readonly audiences: AudienceReader
  /** Deletion requests. */
  readonly regulations: RegulationRecords
}

/**
 * Opens what a store knows for as long as the work takes, beside whoever delivers from it.
 *
 * @throws MissingStoreError where there is no such store; EvrouteError `store_unusable`
 */
export async function withStoreReaders<Result>(
  url: string,
  work: (readers: OpenedReaders) => Promise<Result>,
): Promise<Result> {
  return workOnLog(await openDeliveryLog(url, { write: false }), work)
}

/**
 * As {@link withStoreReaders}; of a store that is not made yet nothing is known.
 *
 * @param missing - is told that it is not there
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
