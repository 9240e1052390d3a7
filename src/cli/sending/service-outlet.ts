import { Client } from '../../client/index.ts'
import { isRejectionCode, type JsonObject } from '../../model/index.ts'
import { CallQueue, type OfferResult } from './call-queue.ts'
import { noDeletions } from './deletion.ts'
import { stopGraceMs, type Outlet, type OutletLedger, type OutletParts } from './outlet.ts'
import type { ServiceTarget } from './sending-options.ts'

/** The client alone: a service at the other end does the rest. */
export class ServiceOutlet implements Outlet {
  readonly #calls: CallQueue
  #accepted = 0
  #acknowledged = 0
  #failed = 0

  constructor(parts: OutletParts & { readonly target: ServiceTarget }) {
    const { options, runtime, listener, target } = parts
    const client = new Client(target.writeKey, {
      flushAt: options.flushAt,
      flushAfterMs: options.flushAfterMs,
      runtime,
      endpoint: target.endpoint,
      timeoutMs: options.timeoutMs,
    })
    client.on('delivered', () => {
      this.#acknowledged++
      listener.acknowledged()
    })
    this.#calls = new CallQueue(client, (call, line) => {
      if (isRejectionCode(call.code)) {
        this.#accepted--
        listener.rejected(line, { ...call, code: call.code })
      } else if (call.code !== 'close_timeout') {
        this.#failed++
        const { messageId, type, attempts, code: reason } = call
        const destinationId = target.endpoint
        runtime.observer.settled({
          messageId,
          type,
          destinationId,
          state: 'failed',
          attempts,
          reason,
        })
      }
    })
  }

  async offer(row: JsonObject, line: number): Promise<OfferResult> {
    if (row['type'] === 'delete') return noDeletions
    const result = await this.#calls.offer(row, line)
    if (result.kind === 'taken') this.#accepted++
    return result
  }

  finish(): Promise<void> {
    return this.#calls.flush()
  }

  stop(): Promise<void> {
    return this.#calls.close(stopGraceMs)
  }

  /** A call that is taken is one delivery: to the service. */
  ledger(): Promise<OutletLedger> {
    return Promise.resolve({
      accepted: this.#accepted,
      routed: this.#accepted,
      filtered: 0,
      duplicate: 0,
      suppressed: 0,
      deliveries: this.#accepted,
      delivered: this.#acknowledged,
      failed: this.#failed,
      expired: 0,
      pending: this.#accepted - this.#acknowledged - this.#failed,
      acknowledged: this.#acknowledged,
    })
  }

  close(): Promise<void> {
    return this.#calls.close(0)
  }
}
