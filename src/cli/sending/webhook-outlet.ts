import { Client, createInProcessTransport, type FailedCall } from '../../client/index.ts'
import { isRejectionCode, type Destination, type JsonObject } from '../../model/index.ts'
import { Pipeline } from '../../service/index.ts'
import { CallQueue, type OfferResult } from './call-queue.ts'
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
      flushAt: options.flushAt,
      flushAfterMs: options.flushAfterMs,
      runtime,
      transport: createInProcessTransport(async ({ calls }) => {
        const results = await this.#pipeline.intake.accept({ sourceId: commandLineSourceId, calls })
        return { rejected: results.filter((result) => result.kind === 'rejected') }
      }),
    })
    this.#calls = new CallQueue(client, (call, line) => {
      if (isRejectionCode(call.code)) listener.rejected(line, { ...call, code: call.code })
      else if (call.code !== 'close_timeout') this.#failure ??= call
    })
  }

  async offer(row: JsonObject, line: number): Promise<OfferResult> {
    if (row['type'] !== 'delete') return this.#calls.offer(row, line)
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
    await this.#calls.close(stopGraceMs)
    await this.#pipeline.stop(stopGraceMs)
  }

  ledger(): Promise<OutletLedger> {
    return this.#pipeline.ledger()
  }

  async close(): Promise<void> {
    await this.#calls.close(0)
    await this.#pipeline.close()
  }
}
