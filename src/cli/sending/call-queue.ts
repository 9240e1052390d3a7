import type { Client, FailedCall } from '../../client/index.ts'
import type { JsonObject, Rejection } from '../../model/index.ts'

/** What became of a row that was offered; `closed` after the way out was closed. */
export type OfferResult =
  { readonly kind: 'taken' | 'closed' } | ({ readonly kind: 'rejected' } & Rejection)

/** A client that waits where its queue is full, and knows from which line each call came. */
export class CallQueue {
  readonly #client: Client
  readonly #lines = new Map<string, number>()

  constructor(client: Client, failed: (call: FailedCall, line: number) => void) {
    this.#client = client
    client.on('delivered', ({ messageId }) => this.#lines.delete(messageId))
    client.on('failed', (call) => {
      const line = this.#lines.get(call.messageId) ?? 0
      this.#lines.delete(call.messageId)
      failed(call, line)
    })
  }

  /** Hands a row to the client, as soon as it has room. */
  async offer(row: JsonObject, line: number): Promise<OfferResult> {
    for (;;) {
      const result = this.#client.enqueue(row)
      if (result.status === 'queued') this.#lines.set(result.messageId, line)
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
}
