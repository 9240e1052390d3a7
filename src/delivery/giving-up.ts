import type { Clock } from '../runtime/index.ts'
import { breakerOpen, type DestinationQueue } from './destination-queue.ts'
import type { Outbox } from './outbox.ts'
import type { DeliveryStore, LeasedDelivery, Share } from './store-port.ts'
import type { WaitingTimes } from './waiting-times.ts'

/** Options of {@link GivingUp}. */
export interface GivingUpOptions {
  /** Where deliveries wait. */
  readonly store: Pick<DeliveryStore, 'claim'>
  /** Measures how long deliveries have waited. */
  readonly clock: Clock
  /** The known due times of waiting deliveries. */
  readonly times: WaitingTimes
  /** Where settlements go. */
  readonly outbox: Outbox
}

/** Maximum number of deliveries per lane that one step claims in order to expire them. */
const givenUpAtOnceMax = 500

/** Expires deliveries whose endpoints have been down for a whole retry window. */
export class GivingUp {
  readonly #options: GivingUpOptions
  /** The queues of destinations with an endpoint that is still down, and its last error. */
  readonly #down = new Map<DestinationQueue, string>()

  constructor(options: GivingUpOptions) {
    this.#options = options
  }

  /** Notes that an endpoint of a destination is still down. */
  note(queue: DestinationQueue, error: string): void {
    this.#down.set(queue, error)
  }

  /** Expires some of the undeliverable deliveries. False once none is left. */
  async giveUp(): Promise<boolean> {
    const { outbox } = this.#options
    for (const [queue, error] of this.#down) {
      const hopeless = await this.#claimHopeless(queue)
      for (const delivery of hopeless) {
        const { attempts } = delivery
        const reason = `${breakerOpen}, ${error}`
        outbox.settle({ kind: 'expired', delivery, attempts, reason })
      }
      if (hopeless.length > 0) await outbox.written()
      else this.#down.delete(queue)
    }
    return this.#down.size > 0
  }

  async #claimHopeless(queue: DestinationQueue): Promise<readonly LeasedDelivery[]> {
    const { store, clock, times, outbox } = this.#options
    if (queue.hopelessSinceMs(clock.nowMs()) === undefined) return []
    outbox.giveBack(queue.giveBack())
    await outbox.written()
    const nowMs = clock.nowMs()
    const sinceMs = queue.hopelessSinceMs(nowMs)
    if (sinceMs === undefined) return []
    const room = { destinationId: queue.destination.id, deliveriesMax: givenUpAtOnceMax }
    const shares: readonly Share[] = [
      { ...room, lane: 'first', dueByMs: sinceMs },
      { ...room, lane: 'retry', dueByMs: nowMs },
    ]
    for (const { destinationId, lane } of shares) times.forget(destinationId, lane)
    const claimed = await store.claim({ nowMs, shares })
    const isHopeless = ({ firstAttemptAtMs, dueAtMs }: LeasedDelivery): boolean =>
      (firstAttemptAtMs ?? dueAtMs) <= sinceMs
    outbox.giveBack(claimed.filter((delivery) => !isHopeless(delivery)))
    return claimed.filter(isHopeless)
  }
}
