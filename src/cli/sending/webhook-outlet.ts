import { Client, createInProcessTransport, type FailedCall } from '../../client/index.ts'
import { isRejectionCode, type Destination, type JsonObject } from '../../model/index.ts'
import { Pipeline } from '../../service/index.ts'
import { CallQueue, queueOptions, type OfferResult, type RowPlace } from './call-queue.ts'
import { readDeletion } from './deletion.ts'
import { stopGraceMs, type Outlet, type OutletLedger, type OutletParts } from './outlet.ts'
import { commandLineSourceId } from './sending-options.ts'

/** Client, router, queue and sender, all in this process. */
export class WebhookOutlet implements Outlet {
  readonly #pipeline: Pipeline
  readonly #calls: CallQueue
  #failure: FailedCall | undefined

  constructor(parts: OutletParts & { readonly destination: Destination }) {
    const { options, runtime, listener } = parts
    this.#pipeline = new Pipeline({
      destinations: [parts.destination],
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

  ledger(): Promise<OutletLedger> {
    return this.#pipeline.ledger()
  }

  async close(): Promise<void> {
    await this.#calls.close(0)
    await this.#pipeline.close()
  }
}
