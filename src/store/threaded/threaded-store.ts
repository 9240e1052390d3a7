import { closedError } from '../store-errors.ts'
import type { Store } from '../store.ts'
import type { UpgradeProgress } from '../sqlite/schema.ts'
import { settleMessage } from './settle-message.ts'
import { startThread, type StartThread } from './start-thread.ts'
import { StoreCalls, type Argument } from './store-calls.ts'
import type { ThreadParts } from './answer-calls.ts'

/** An add with this many events or more is sent at once. */
const largeFrom = 16

/**
 * Opens a SQLite file for delivery in a thread of its own, and makes the file if it does not exist.
 * Statements and waits for the disk do not block this thread. Look-ups of deliveries have a second thread, so
 * that they do not delay adds and settlements.
 *
 * @param path - the file, or a symbolic link to it
 * @param start - starts a thread; {@link startThread} by default
 * @param onUpgrade - learns the progress when a file of an earlier version is upgraded
 * @throws EvrouteError the errors of SqliteStore
 */
export async function openThreadedStore(
  path: string,
  start: StartThread = startThread,
  onUpgrade?: (progress: UpgradeProgress) => void,
): Promise<Store> {
  const calls = await StoreCalls.open({ path, access: 'deliver', onUpgrade }, start)
  const reading = new ReadingThread(() => StoreCalls.open({ path, access: 'read' }, start))
  return {
    ...methodsOf(calls, 'store', [
      'checkWritable',
      'claim',
      'nextDue',
      'ledger',
      'backlogs',
      'retry',
      'discard',
      'purge',
    ]),
    audiences: methodsOf(calls, 'audiences', [
      'begin',
      'take',
      'release',
      'remove',
      'list',
      'members',
    ]),
    regulations: methodsOf(calls, 'regulations', [
      'create',
      'erase',
      'noteArchive',
      'finish',
      'find',
      'list',
    ]),
    add(batch) {
      const added = calls.ask('store', 'add', batch)
      if (batch.events.length >= largeFrom) calls.sendNow()
      return added
    },
    async settle(batch) {
      const places = await calls.ask('messages', 'settle', settleMessage(batch))
      return places.flatMap((place) => batch.settlements[place] ?? [])
    },
    list: async (request) => (await reading.calls()).ask('store', 'list', request),
    story: async (key) => (await reading.calls()).ask('store', 'story', key),
    audit: async () => (await reading.calls()).ask('store', 'audit', undefined),
    // SQLite empties the log only for the last connection.
    close: () => calls.close(reading.close()),
  }
}

/** Makes methods that only pass their argument on. */
function methodsOf<Part extends keyof ThreadParts, Method extends keyof ThreadParts[Part] & string>(
  calls: StoreCalls,
  part: Part,
  methods: readonly Method[],
): Pick<ThreadParts[Part], Method> {
  const asking = (method: Method) => (argument: Argument<ThreadParts[Part][Method]>) =>
    calls.ask(part, method, argument)
  return Object.fromEntries(methods.map((method) => [method, asking(method)])) as Pick<
    ThreadParts[Part],
    Method
  >
}

/**
 * A thread that reads a store's file while another thread delivers from it. It starts with the first look-up
 * and ends with the store. If it fails earlier, the next look-up starts a new one.
 */
class ReadingThread {
  readonly #start: () => Promise<StoreCalls>
  #calls: Promise<StoreCalls> | undefined
  #isClosed = false

  constructor(start: () => Promise<StoreCalls>) {
    this.#start = start
  }

  /** @throws the errors of the log; EvrouteError `store_closed` after `close()` */
  async calls(): Promise<StoreCalls> {
    const before = this.#calls
    const hasFailed = (await before)?.hasFailed === true
    if (this.#isClosed) throw closedError()
    if (hasFailed && this.#calls === before) this.#calls = undefined
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
