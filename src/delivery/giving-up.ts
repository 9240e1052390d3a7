import { breakerOpen } from './destination-queue.ts'
import type { DispatcherParts } from './dispatcher-parts.ts'
import type { LeasedDelivery, Share } from './store-port.ts'

/** Maximum number of deliveries per lane that one step claims and expires. */
const givenUpAtOnceMax = 500

/** Expires deliveries whose endpoints have been down for a whole retry window. */
export class GivingUp {
  readonly #parts: DispatcherParts
  /** By destination, the last error of an endpoint that is still down. */
  readonly #down = new Map<string, string>()

  constructor(parts: DispatcherParts) {
    this.#parts = parts
  }

  note(destinationId: string, error: string): void {
    this.#down.set(destinationId, error)
  }

  /** Expires some of the undeliverable deliveries. False once none is left. */
  async giveUp(): Promise<boolean> {
    const { outbox } = this.#parts
    for (const [destinationId, error] of this.#down) {
      const undeliverable = await this.#claimUndeliverable(destinationId)
      for (const delivery of undeliverable) {
        const { attempts } = delivery
        const reason = `${breakerOpen}, ${error}`
        outbox.settle({ kind: 'expired', delivery, attempts, reason })
      }
      if (undeliverable.length > 0) await outbox.written()
      else this.#down.delete(destinationId)
    }
    return this.#down.size > 0
  }

  async #claimUndeliverable(destinationId: string): Promise<readonly LeasedDelivery[]> {
    const { store, clock, queues, times, outbox } = this.#parts
    const queue = queues.get(destinationId)
    if (queue?.undeliverableSinceMs(clock.nowMs()) === undefined) return []
    outbox.giveBack(queue.giveBack())
    await outbox.written()
    const nowMs = clock.nowMs()
    const sinceMs = queue.undeliverableSinceMs(nowMs)
    if (sinceMs === undefined) return []
    const room = { destinationId, deliveriesMax: givenUpAtOnceMax }
    const shares: readonly Share[] = [
      { ...room, lane: 'first', dueByMs: sinceMs },
      { ...room, lane: 'retry', dueByMs: nowMs },
    ]
    for (const { lane } of shares) times.forget(destinationId, lane)
    const claimed = await store.claim({ nowMs, shares })
    const isUndeliverable = ({ firstAttemptAtMs, dueAtMs }: LeasedDelivery): boolean =>
      (firstAttemptAtMs ?? dueAtMs) <= sinceMs
    outbox.giveBack(claimed.filter((delivery) => !isUndeliverable(delivery)))
    return claimed.filter(isUndeliverable)
  }
}
