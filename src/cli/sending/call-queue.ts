import type { Client, ClientOptions, FailedCall } from '../../client/index.ts'
import type { JsonObject, Rejection } from '../../model/index.ts'
import type { SendingOptions } from './sending-options.ts'

/** The outcome of offering a row; `closed` after the outlet was closed. */
export type OfferResult =
  { readonly kind: 'taken' | 'closed' } | ({ readonly kind: 'rejected' } & Rejection)

/** The position of a row in its input. */
export interface RowPlace {
  /** The file; undefined if there is only one input. */
  readonly file?: string | undefined
  /** The line on which the row begins, from 1. */
  readonly line: number
}

/** Low enough for flat memory even if every call has the maximum size. */
const queueMax = 1_000

/** Rows are read faster than they are stored or answered, and larger batches cost less per row. */
const joinedCallsMax = 250

/** The client options for the command's options. `--flush-at` is exact. */
export function queueOptions({ flushAt, flushAfterMs }: SendingOptions): ClientOptions {
  return {
    flushAt,
    batchMax: flushAt ?? joinedCallsMax,
    flushAfterMs,
    // A full queue is flushed, so a smaller queue would make smaller batches.
    queueMax: Math.max(queueMax, flushAt ?? 0),
  }
}

/** A client that waits while its queue is full, and remembers the position of each call. */
export class CallQueue {
  readonly #client: Client
  /** The positions of the calls with each messageId, in order: ids may repeat. */
  readonly #places = new Map<string, RowPlace[]>()

  constructor(client: Client, failed: (call: FailedCall, place: RowPlace) => void) {
    this.#client = client
    client.on('delivered', ({ messageId }) => this.#takePlace(messageId))
    client.on('failed', (call) => failed(call, this.#takePlace(call.messageId)))
  }

  /** Passes a row to the client as soon as it has room. */
  async offer(row: JsonObject, place: RowPlace): Promise<OfferResult> {
    for (;;) {
      const result = this.#client.enqueue(row)
      if (result.status === 'queued') this.#keepPlace(result.messageId, place)
      if (result.status !== 'refused') return { kind: 'taken' }
      const { code, message } = result
      if (code === 'closed') return { kind: 'closed' }
      if (code !== 'queue_full') return { kind: 'rejected', code, message }
      await this.#client.room()
    }
  }

  /** Resolves when every accepted call is done. */
  flush(): Promise<void> {
    return this.#client.flush()
  }

  /** Waits `timeoutMs` for calls under way, then gives up on them. */
  async close(timeoutMs: number): Promise<void> {
    await this.#client.close({ timeoutMs })
  }

  #keepPlace(messageId: string, place: RowPlace): void {
    const places = this.#places.get(messageId)
    if (places === undefined) this.#places.set(messageId, [place])
    else places.push(place)
  }

  #takePlace(messageId: string): RowPlace {
    const places = this.#places.get(messageId) ?? []
    const place = places.shift() ?? { line: 0 }
    if (places.length === 0) this.#places.delete(messageId)
    return place
  }
}
