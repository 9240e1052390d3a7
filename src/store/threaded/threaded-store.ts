import { fileURLToPath } from 'node:url'
import type { Worker } from 'node:worker_threads'
import type { Lease, SettleRequest } from '../../delivery/index.ts'
import { StoreUnusableError } from '../../model/index.ts'
import { startWorker, ThreadCalls, workerProgram, type Thread } from '../../threads/index.ts'
import type { UpgradeProgress } from '../sqlite/schema.ts'
import { closedError } from '../store-errors.ts'
import type { Store } from '../store.ts'
import type { StoreThreadParts } from './store-thread-parts.ts'

/** An add with at least this many events is sent to the thread at once, without gathering more calls. */
const largeFrom = 16

/** The methods of the store that need no work in this thread. */
const storeMethods = [
  ...(['checkWritable', 'claim', 'nextDue', 'ledger', 'destinationCounts'] as const),
  ...(['retry', 'discard', 'purge'] as const),
]
const audienceMethods = ['begin', 'take', 'release', 'remove', 'list', 'members'] as const
const regulationMethods = ['create', 'erase', 'noteArchive', 'finish', 'find', 'list'] as const

type StoreCalls = ThreadCalls<StoreThreadParts, UpgradeProgress>

interface StoreFile {
  readonly path: string
  readonly start: () => Thread
  readonly onUpgrade?: ((progress: UpgradeProgress) => void) | undefined
  readonly abandoned: AbortSignal
}

/**
 * Opens or creates a SQLite file from which this process delivers. A separate thread runs its statements, so that
 * they and waits for the disk do not block the caller's thread. Look-ups of deliveries use one more thread, so that
 * they do not delay adds and settlements. Throws like `SqliteStore.open`.
 */
export async function openThreadedStore(
  path: string,
  start: StoreFile['start'] = startThread,
  onUpgrade?: StoreFile['onUpgrade'],
): Promise<Store> {
  const abandoning = new AbortController()
  const abandoned = abandoning.signal
  const calls = await openThread('openStore', { path, start, onUpgrade, abandoned })
  const reading = new ReadingThread(() => openThread('openLog', { path, start, abandoned }))
  const add = calls.method('store', 'add')
  const settle = calls.method('messages', 'settle')
  return {
    add(batch) {
      const added = add(batch)
      if (batch.events.length >= largeFrom) calls.sendNow()
      return added
    },
    async settle(batch) {
      const indexes = await settle(settleMessage(batch))
      return indexes.flatMap((index) => batch.settlements[index] ?? [])
    },
    ...calls.methods('store', storeMethods),
    audiences: calls.methods('audiences', audienceMethods),
    regulations: calls.methods('regulations', regulationMethods),
    list: async (request) => (await reading.calls()).method('log', 'list')(request),
    story: async (key) => (await reading.calls()).method('log', 'story')(key),
    countLost: async (request) => (await reading.calls()).method('log', 'countLost')(request),
    audit: async () => (await reading.calls()).method('log', 'audit')(),
    // End the reading thread first: SQLite deletes the write-ahead log only if the store's connection closes last.
    // Ignore an error of the reading thread, so that the store closes even if that thread has died.
    close: () => calls.close(reading.close().catch(() => undefined)),
    disconnect: () => abandoning.abort(),
  }
}

/** Starts a store's thread. Throws a StoreUnusableError if a bundler left out the thread's program. */
export function startThread(): Worker {
  const { url, isThere } = workerProgram('store-thread', import.meta.url)
  if (isThere) return startWorker(url)
  throw new StoreUnusableError({
    message: `Cannot start the thread of the store: ${fileURLToPath(url)} is missing, probably because evroute was bundled`,
    hint: 'Keep evroute out of the bundle, for example with `esbuild --external:evroute`.',
  })
}

/** Writes a batch as text without its webhooks. Text takes less time to send to the store's thread than objects. */
export function settleMessage({ nowMs, settlements, requests }: SettleRequest): string {
  const ends = settlements.map((each) => ({ ...each, delivery: leaseOf(each.delivery) }))
  return JSON.stringify({ nowMs, settlements: ends, requests })
}

function leaseOf({ id, destinationId, lease, lane }: Lease): Lease {
  return { id, destinationId, lease, lane }
}

async function openThread(
  method: 'openStore' | 'openLog',
  { path, start, onUpgrade, abandoned }: StoreFile,
): Promise<StoreCalls> {
  const calls: StoreCalls = new ThreadCalls(start(), {
    onNotice: (progress) => onUpgrade?.(progress),
    closedError,
    abandoned,
    deathError: (end, cause) =>
      new StoreUnusableError({
        message: `Cannot use the store ${path}: its thread ${end}`,
        hint: 'Restart this process. Data that was not confirmed may be missing from the store.',
        isTemporary: abandoned.aborted,
        cause,
      }),
  })
  try {
    await calls.method('thread', method)(path)
    return calls
  } catch (error) {
    await calls.close()
    throw error
  }
}

/**
 * A thread that reads a store's file while another thread delivers from it. It starts with the first look-up
 * and ends with the store. If it dies earlier, the next look-up starts a new one.
 */
class ReadingThread {
  readonly #start: () => Promise<StoreCalls>
  #calls: Promise<StoreCalls> | undefined
  #isClosed = false

  constructor(start: () => Promise<StoreCalls>) {
    this.#start = start
  }

  /** @throws what opening the log in the thread throws; EvrouteError `store_closed` after `close()` */
  async calls(): Promise<StoreCalls> {
    const before = this.#calls
    const hasEnded = (await before)?.hasEnded === true
    if (this.#isClosed) throw closedError()
    if (hasEnded && this.#calls === before) this.#calls = undefined
    this.#calls ??= this.#start()
    try {
      return await this.#calls
    } catch (error) {
      // The next look-up tries again.
      this.#calls = undefined
      throw error
    }
  }

  /** Ends the look-up in progress, and the thread. */
  async close(): Promise<void> {
    this.#isClosed = true
    const calls = await this.#calls?.catch(() => undefined)
    await calls?.close()
  }
}
