import { Client, type FailedCall } from '../../client/index.ts'
import { emptyLedger, endpointName, isRejectionCode, type JsonObject } from '../../model/index.ts'
import {
  CallQueue,
  queueOptions,
  noDeletions,
  stopGraceMs,
  type OfferResult,
  type RowPosition,
  type Outlet,
  type OutletLedger,
  type OutletParts,
  type ServiceListener,
} from './outlet.ts'
import type { ServiceTarget } from './sending-options.ts'

/** Sends calls with the client to a service. */
export class ServiceOutlet implements Outlet {
  readonly #target: ServiceTarget
  readonly #listener: ServiceListener
  readonly #calls: CallQueue
  #accepted = 0
  #acknowledged = 0
  #failed = 0

  constructor(
    parts: OutletParts & { readonly target: ServiceTarget; readonly listener: ServiceListener },
  ) {
    const { options, runtime, listener, target } = parts
    this.#target = target
    this.#listener = listener
    const client = new Client(target.writeKey, {
      ...queueOptions(options),
      runtime,
      endpoint: target.endpoint,
      timeoutMs: options.timeoutMs,
    })
    client.on('delivered', () => {
      this.#acknowledged++
      listener.acknowledged()
    })
    client.on('retry', (retry) =>
      listener.retrying({ ...retry, reason: this.#withoutKey(retry.reason) }),
    )
    this.#calls = new CallQueue(client, (call, position) => this.#notTaken(call, position))
  }

  async offer(row: JsonObject, position: RowPosition): Promise<OfferResult> {
    if (row['type'] === 'delete') return noDeletions
    const result = await this.#calls.offer(row, position)
    if (result.kind === 'taken') this.#accepted++
    return result
  }

  finish(): Promise<void> {
    return this.#calls.flush()
  }

  stop(): Promise<void> {
    return this.#calls.close(stopGraceMs)
  }

  /** Returns the ledger. Each accepted call counts as one delivery, to the service. */
  ledger(): Promise<OutletLedger> {
    const [accepted, acknowledged, failed] = [this.#accepted, this.#acknowledged, this.#failed]
    return Promise.resolve({
      ...{ ...emptyLedger, accepted, routed: accepted, deliveries: accepted },
      ...{ delivered: acknowledged, failed, pending: accepted - acknowledged - failed },
      acknowledged,
    })
  }

  /** Ends the connections. */
  close(): Promise<void> {
    return this.#calls.close(0)
  }

  #notTaken({ code, message, ...call }: FailedCall, position: RowPosition): void {
    if (isRejectionCode(code)) {
      this.#accepted--
      this.#listener.rejected(position, { code, message })
    } else if (code !== 'close_timeout') {
      this.#failed++
      const { messageId, type, attempts } = call
      const destinationId = endpointName(this.#target.endpoint)
      this.#listener.failed(
        { messageId, type, destinationId, state: 'failed', attempts, reason: code },
        this.#withoutKey(message),
      )
    }
  }

  /** Hides the write key in a message from the service, which may quote it. */
  #withoutKey(text: string): string {
    return text.replaceAll(this.#target.writeKey, '***')
  }
}
