import type { Clock } from '../runtime/index.ts'
import { breakerOpen, type DestinationQueue } from './destination-queue.ts'
import type { Outbox } from './outbox.ts'
import type { DeliveryStore, LeasedDelivery, Share } from './store-port.ts'
import type { WaitingTimes } from './waiting-times.ts'

interface GivingUpOptions {
  readonly store: Pick<DeliveryStore, 'claim'>
  readonly clock: Clock
  /** Keyed by destination id. */
  readonly queues: ReadonlyMap<string, DestinationQueue>
  readonly times: WaitingTimes
  readonly outbox: Outbox
}

/** Maximum number of deliveries per lane that one step claims and expires. */
const givenUpAtOnceMax = 500

/** Expires deliveries whose endpoints have been down for a whole retry window. */
export class GivingUp {
  readonly #options: GivingUpOptions
  /** Destinations with an endpoint that is still down, and the error. */
  readonly #down = new Map<string, string>()

  constructor(options: GivingUpOptions) {
    this.#options = options
  }

  /** Notes that an endpoint of a destination is still down. */
  note(destinationId: string, error: string): void {
    this.#down.set(destinationId, error)
  }

  /** Expires some of the undeliverable deliveries. False once none is left. */
  async giveUp(): Promise<boolean> {
    const { outbox } = this.#options
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
    const { store, clock, queues, times, outbox } = this.#options
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
