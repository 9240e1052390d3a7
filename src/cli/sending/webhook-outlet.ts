import { Client, createInProcessTransport, type RejectedCall } from '../../client/index.ts'
import { defaultRetention } from '../../delivery/index.ts'
import {
  isRejectionCode,
  ledgerSince,
  type DeliveryLedger,
  type Destination,
  type JsonObject,
} from '../../model/index.ts'
import { Pipeline } from '../../pipeline/index.ts'
import { openStore, storeName, type Store } from '../../store/index.ts'
import { collectEarly } from './collect-early.ts'
import { CallQueue, queueOptions, type OfferResult, type RowPlace } from './call-queue.ts'
import { readDeletion } from './deletion.ts'
import { stopGraceMs, type Outlet, type OutletLedger, type OutletParts } from './outlet.ts'
import { commandLineSourceId, sourceIdOf } from './sending-options.ts'

/** A run that is interrupted may go on much later, and must know its rows then. */
const commandRetention = Object.freeze({
  ...defaultRetention,
  messageIdsMs: defaultRetention.failedMs,
})

/** What a way out to webhooks is made of. */
type WebhookOutletParts = OutletParts & { readonly destination: Destination }

/** The store of a run, and its books when the run began. */
interface OpenedStore {
  readonly store: Store
  readonly begin: DeliveryLedger
  readonly hasFailedBefore: boolean
}

/** Client, router, queue and sender, all in this process. */
export class WebhookOutlet implements Outlet {
  readonly storeName: string | undefined
  readonly hasFailedBefore: boolean
  readonly #destinationId: string
  readonly #sourceId: string
  readonly #begin: DeliveryLedger
  readonly #pipeline: Pipeline
  readonly #calls: CallQueue
  #failure: { readonly error: unknown } | undefined

  private constructor(parts: WebhookOutletParts, { store, begin, hasFailedBefore }: OpenedStore) {
    const { options, runtime, listener } = parts
    collectEarly()
    this.storeName = options.store === undefined ? undefined : storeName(options.store)
    this.#destinationId = parts.destination.id
    this.#sourceId = sourceIdOf(parts.destination)
    this.#begin = begin
    this.hasFailedBefore = hasFailedBefore
    this.#pipeline = new Pipeline({
      destinations: [parts.destination],
      store,
      isStoreOwn: options.store === undefined,
      processes: store.processes,
      runtime,
      retention: commandRetention,
      // A store that several processes share is a service's, which says how long it remembers.
      purges: store.processes === undefined,
      retryWindowMs: options.retryForMs,
      deadlineMs: options.timeoutMs,
    })
    const client = new Client(commandLineSourceId, {
      ...queueOptions(options),
      runtime,
      transport: createInProcessTransport(({ calls }) => this.#accept(calls)),
    })
    this.#calls = new CallQueue(client, (call, place) => {
      if (isRejectionCode(call.code)) listener.rejected(place, { ...call, code: call.code })
      else if (call.code !== 'close_timeout') this.#failure ??= { error: new Error(call.message) }
    })
  }

  /**
   * Opens the store that the options name, or one in memory.
   *
   * @throws EvrouteError `store_in_use` or `store_unusable`; SettingError for a URL that names no store
   */
  static async open(parts: WebhookOutletParts): Promise<WebhookOutlet> {
    const url = parts.options.store ?? 'memory:'
    const store = await openStore(url, {
      ownThread: true,
      bounds: { endedMax: 0 },
      log: parts.runtime.log,
    })
    try {
      const destinationId = parts.destination.id
      const begin = await store.ledger({ destinationId })
      const filter = { destinationId, states: ['failed', 'expired'] as const }
      // The books also count what was purged since.
      const hasFailedBefore =
        begin.failed + begin.expired > 0 && (await store.list({ filter, limit: 1 })).length > 0
      return new WebhookOutlet(parts, { store, begin, hasFailedBefore })
    } catch (error) {
      await store.close()
      throw error
    }
  }

  /** @throws whatever keeps calls from being taken: there is no use in reading on */
  async offer(row: JsonObject, place: RowPlace): Promise<OfferResult> {
    if (this.#failure !== undefined) throw this.#failure.error
    if (row['type'] !== 'delete') return this.#calls.offer(row, place)
    const deletion = readDeletion(row)
    if (deletion.kind === 'rejected') return deletion
    // Calls that came before wait in the client; a deletion that overtook them would be undone.
    await this.#calls.flush()
    await this.#pipeline.intake.acceptDeletion(deletion, this.#sourceId)
    return { kind: 'taken' }
  }

  async finish(): Promise<void> {
    await this.#calls.flush()
    if (this.#failure !== undefined) throw this.#failure.error
    await this.#pipeline.idle()
  }

  async stop(): Promise<void> {
    // At once: while the calls have their grace the pipeline would start further requests.
    await Promise.all([this.#pipeline.stop(stopGraceMs), this.#calls.close(stopGraceMs)])
  }

  /** The books of this run: what the store held for the destination already is delivered by it too. */
  async ledger(): Promise<OutletLedger> {
    const end = await this.#pipeline.ledger({ destinationId: this.#destinationId })
    return ledgerSince(this.#begin, end)
  }

  async close(): Promise<void> {
    await this.#calls.close(0)
    await this.#pipeline.close()
  }

  async #accept(
    calls: readonly unknown[],
  ): Promise<{ readonly rejected: readonly RejectedCall[] }> {
    try {
      const results = await this.#pipeline.intake.accept({ sourceId: this.#sourceId, calls })
      return { rejected: results.filter((result) => result.kind === 'rejected') }
    } catch (error) {
      // The client would tell its message only.
      this.#failure ??= { error }
      throw error
    }
  }
}
