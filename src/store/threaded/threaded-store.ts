import type { AudienceStore } from '../../audience/index.ts'
import type {
  AddRequest,
  AddResult,
  ClaimRequest,
  DeliveryKey,
  DeliveryStory,
  DiscardRequest,
  DueTime,
  Lease,
  LeasedDelivery,
  ListRequest,
  LoggedDelivery,
  PurgeRequest,
  PurgeResult,
  RetryRequest,
  Settlement,
  SettleRequest,
  StoreAudit,
} from '../../delivery/index.ts'
import type { DeliveryLedger } from '../../model/index.ts'
import type { RegulationStore } from '../../privacy/index.ts'
import type { Store } from '../store.ts'
import type { UpgradeProgress } from '../upgrade.ts'
import { handedOver } from './handed-over.ts'
import { ReadingThread } from './reading-thread.ts'
import { startThread, type StartThread } from './start-thread.ts'
import { StoreCalls } from './store-calls.ts'
import type { SlimAddition } from './thread-messages.ts'

/** The number of events from which on an add is sent as a message of its own. */
const largeFrom = 16

/**
 * A store whose engine works in a thread of its own, so that its statements and its waits for the disk
 * do not block this thread. Questions about deliveries have a second thread, so that they do not delay
 * adding and settling.
 */
export class ThreadedStore implements Store {
  readonly audiences: AudienceStore
  readonly regulations: RegulationStore
  readonly #calls: StoreCalls
  readonly #reading: ReadingThread

  private constructor(calls: StoreCalls, reading: ReadingThread) {
    this.#calls = calls
    this.#reading = reading
    this.audiences = audiencesOf(calls)
    this.regulations = regulationsOf(calls)
  }

  /**
   * Opens a SQLite file for delivery in a new thread, and makes it if it does not exist.
   *
   * @param path - the file, or a symbolic link to it
   * @param start - starts the thread; {@link startThread} by default
   * @param onUpgrade - learns the progress when a file of an earlier version is upgraded
   * @throws EvrouteError the errors of SqliteStore
   */
  static async open(
    path: string,
    start: StartThread = startThread,
    onUpgrade?: (progress: UpgradeProgress) => void,
  ): Promise<ThreadedStore> {
    const calls = await StoreCalls.open({ path, access: 'deliver', onUpgrade }, start)
    return new ThreadedStore(calls, new ReadingThread(path, start))
  }

  /** Holds no part of a batch that the thread has, unless some of it is leased. */
  add(batch: AddRequest): Promise<AddResult> {
    const answer = this.#calls.ask('queue', 'add', batch)
    if (batch.events.length >= largeFrom) this.#calls.sendNow()
    return batch.handOver.length === 0 ? stored(answer) : this.#handedOver(answer, batch)
  }

  async #handedOver(answer: Promise<SlimAddition>, batch: AddRequest): Promise<AddResult> {
    const addition = await answer
    const { outcomes, refused } = addition
    return { outcomes, leased: handedOver(batch, addition), refused }
  }

  claim(request: ClaimRequest): Promise<readonly LeasedDelivery[]> {
    return this.#calls.ask('queue', 'claim', request)
  }

  async settle(batch: SettleRequest): Promise<readonly Settlement[]> {
    const settlements = batch.settlements.map((settlement) => {
      return { ...settlement, delivery: leaseOf(settlement.delivery) }
    })
    const places = await this.#calls.ask('queue', 'settle', { ...batch, settlements })
    return places.flatMap((place) => batch.settlements[place] ?? [])
  }

  checkWritable(): Promise<void> {
    return this.#calls.ask('store', 'checkWritable', undefined)
  }

  nextDue(request: { readonly destinationIds: readonly string[] }): Promise<readonly DueTime[]> {
    return this.#calls.ask('store', 'nextDue', request)
  }

  ledger(request?: { readonly destinationId: string }): Promise<DeliveryLedger> {
    return this.#calls.ask('store', 'ledger', request)
  }

  list(request: ListRequest): Promise<readonly LoggedDelivery[]> {
    return this.#reading.ask('list', request)
  }

  story(key: DeliveryKey): Promise<DeliveryStory | undefined> {
    return this.#reading.ask('story', key)
  }

  retry(request: RetryRequest): Promise<number> {
    return this.#calls.ask('store', 'retry', request)
  }

  discard(request: DiscardRequest): Promise<number> {
    return this.#calls.ask('store', 'discard', request)
  }

  purge(request: PurgeRequest): Promise<PurgeResult> {
    return this.#calls.ask('store', 'purge', request)
  }

  audit(): Promise<StoreAudit> {
    return this.#reading.ask('audit', undefined)
  }

  close(): Promise<void> {
    // SQLite empties the log only for the last connection.
    return this.#calls.close(this.#reading.close())
  }
}

/** The lease alone: the text stays here. */
function leaseOf({ id, destinationId, lease, lane, acceptedAtMs, attempts }: Lease): Lease {
  return { id, destinationId, lease, lane, acceptedAtMs, attempts }
}

async function stored(answer: Promise<SlimAddition>): Promise<AddResult> {
  const { outcomes, refused } = await answer
  return { outcomes, leased: [], refused }
}

function audiencesOf(calls: StoreCalls): AudienceStore {
  const { makers } = calls
  return {
    begin: (request) => calls.ask('audiences', 'begin', request),
    take: (request) => makers.during(request, (remote) => calls.ask('audiences', 'take', remote)),
    release: (request) =>
      makers.during(request, (remote) => calls.ask('audiences', 'release', remote)),
    remove: (request) => calls.ask('audiences', 'remove', request),
    list: () => calls.ask('audiences', 'list', undefined),
    members: (request) => calls.ask('audiences', 'members', request),
  }
}

function regulationsOf(calls: StoreCalls): RegulationStore {
  return {
    create: (request) => calls.ask('regulations', 'create', request),
    erase: (request) => calls.ask('regulations', 'erase', request),
    noteArchive: (request) => calls.ask('regulations', 'noteArchive', request),
    finish: (request) => calls.ask('regulations', 'finish', request),
    find: (request) => calls.ask('regulations', 'find', request),
    list: (request) => calls.ask('regulations', 'list', request),
  }
}
