import { Client, createInProcessTransport, type FailedCall } from '../../client/index.ts'
import type { DeliveryStore } from '../../delivery/index.ts'
import {
  emptyLedger,
  isRejectionCode,
  type DeliveryLedger,
  type Destination,
  type JsonObject,
} from '../../model/index.ts'
import { Pipeline } from '../../service/index.ts'
import { openStore } from '../../store/index.ts'
import { CallQueue, queueOptions, type OfferResult, type RowPlace } from './call-queue.ts'
import { readDeletion } from './deletion.ts'
import { stopGraceMs, type Outlet, type OutletLedger, type OutletParts } from './outlet.ts'
import { commandLineSourceId } from './sending-options.ts'

/** What a way out to webhooks is made of. */
type WebhookOutletParts = OutletParts & { readonly destination: Destination }

/** The store of a run, and its books when the run began; one in memory begins with none. */
interface OpenedStore {
  readonly store?: DeliveryStore
  readonly begin: DeliveryLedger
}

/** Client, router, queue and sender, all in this process. */
export class WebhookOutlet implements Outlet {
  readonly #destinationId: string
  readonly #begin: DeliveryLedger
  readonly #pipeline: Pipeline
  readonly #calls: CallQueue
  #failure: FailedCall | undefined

  private constructor(parts: WebhookOutletParts, { begin, ...opened }: OpenedStore) {
    const { options, runtime, listener } = parts
    this.#destinationId = parts.destination.id
    this.#begin = begin
    this.#pipeline = new Pipeline({
      destinations: [parts.destination],
      ...opened,
      runtime,
      retryWindowMs: options.retryForMs,
      deadlineMs: options.timeoutMs,
    })
    const client = new Client(commandLineSourceId, {
      ...queueOptions(options),
      runtime,
      transport: createInProcessTransport(async ({ calls }) => {
        const results = await this.#pipeline.intake.accept({ sourceId: commandLineSourceId, calls })
        return { rejected: results.filter((result) => result.kind === 'rejected') }
      }),
    })
    this.#calls = new CallQueue(client, (call, place) => {
      if (isRejectionCode(call.code)) listener.rejected(place, { ...call, code: call.code })
      else if (call.code !== 'close_timeout') this.#failure ??= call
    })
  }

  /**
   * Opens the store that the options name, or one in memory.
   *
   * @throws EvrouteError `store_in_use` or `store_unusable`; SettingError for a URL that names no store
   */
  static async open(parts: WebhookOutletParts): Promise<WebhookOutlet> {
    const url = parts.options.store
    if (url === undefined) return new WebhookOutlet(parts, { begin: emptyLedger })
    const store = await openStore(url)
    try {
      const begin = await store.ledger({ destinationId: parts.destination.id })
      return new WebhookOutlet(parts, { store, begin })
    } catch (error) {
      await store.close()
      throw error
    }
  }

  async offer(row: JsonObject, place: RowPlace): Promise<OfferResult> {
    if (row['type'] !== 'delete') return this.#calls.offer(row, place)
    const deletion = readDeletion(row)
    if (deletion.kind === 'rejected') return deletion
    // Calls that came before wait in the client; a deletion that overtook them would be undone.
    await this.#calls.flush()
    await this.#pipeline.intake.acceptDeletion(deletion, commandLineSourceId)
    return { kind: 'taken' }
  }

  async finish(): Promise<void> {
    await this.#calls.flush()
    if (this.#failure !== undefined) throw new Error(this.#failure.message)
    await this.#pipeline.idle()
  }

  async stop(): Promise<void> {
    // At once: while the calls have their grace the pipeline would start further requests.
    await Promise.all([this.#pipeline.stop(stopGraceMs), this.#calls.close(stopGraceMs)])
  }

  /** The books of this run: what the store held for the destination already is delivered by it too. */
  async ledger(): Promise<OutletLedger> {
    const { pending, ...begin } = this.#begin
    const end = await this.#pipeline.ledger({ destinationId: this.#destinationId })
    const run: Record<keyof DeliveryLedger, number> = { ...end }
    for (const line of Object.keys(begin) as (keyof typeof begin)[]) run[line] -= begin[line]
    run.deliveries += pending
    return run
  }

  async close(): Promise<void> {
    await this.#calls.close(0)
    await this.#pipeline.close()
  }
}
