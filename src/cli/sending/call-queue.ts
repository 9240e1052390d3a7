import type { Client, ClientOptions, FailedCall } from '../../client/index.ts'
import type { JsonObject, Rejection } from '../../model/index.ts'
import type { SendingOptions } from './sending-options.ts'

/** What became of a row that was offered; `closed` after the way out was closed. */
export type OfferResult =
  { readonly kind: 'taken' | 'closed' } | ({ readonly kind: 'rejected' } & Rejection)

/** Where a row stands. */
export interface RowPlace {
  /** The file; undefined where there is only one input. */
  readonly file?: string | undefined
  /** The line on which the row begins, from 1. */
  readonly line: number
}

/** Few enough calls that memory stays flat, also when each is as large as a call may be. */
const queueMax = 1_000

/** Rows of a file come faster than they are stored or answered: larger batches cost less for each row. */
const joinedCallsMax = 250

/** The client's options that follow from those of the command. `--flush-at` is exact. */
export function queueOptions({ flushAt, flushAfterMs }: SendingOptions): ClientOptions {
  return {
    flushAt,
    batchMax: flushAt ?? joinedCallsMax,
    flushAfterMs,
    // A queue that is full is flushed, so a smaller one would make smaller batches.
    queueMax: Math.max(queueMax, flushAt ?? 0),
  }
}

/** A client that waits where its queue is full, and knows from which place each call came. */
export class CallQueue {
  readonly #client: Client
  /** Of each messageId, the places of its calls in their order: ids may repeat. */
  readonly #places = new Map<string, RowPlace[]>()

  constructor(client: Client, failed: (call: FailedCall, place: RowPlace) => void) {
    this.#client = client
    client.on('delivered', ({ messageId }) => this.#takePlace(messageId))
    client.on('failed', (call) => failed(call, this.#takePlace(call.messageId)))
  }

  /** Hands a row to the client, as soon as it has room. */
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

  /** Resolves when every call that was taken came to its end. */
  flush(): Promise<void> {
    return this.#client.flush()
  }

  /** Waits `timeoutMs` for calls under way, then gives them up. */
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
