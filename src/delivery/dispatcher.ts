import type { Destination } from '../model/index.ts'
import type { Runtime, Timer } from '../runtime/index.ts'
import type { WebhookSender } from '../webhook/index.ts'
import { attempt } from './attempt.ts'
import { defaultRetryPolicy, type RetryPolicy } from './retry-policy.ts'
import type { DeliveryStore, LeasedDelivery, Settlement } from './store-port.ts'

/** A destination and what sends to it. */
export interface DispatchTarget {
  /** Where deliveries go. */
  readonly destination: Destination
  /** Sends one request; closed by whoever made it. */
  readonly sender: Pick<WebhookSender, 'post'>
}

/** What a dispatcher is made of. */
export interface DispatcherOptions {
  /** Where deliveries wait. */
  readonly store: DeliveryStore
  /** Where they go; deliveries to other destinations are left alone. */
  readonly targets: readonly DispatchTarget[]
  /** Clock, randomness, log and observer. */
  readonly runtime: Runtime
  /** When to try again; {@link defaultRetryPolicy} by default. */
  readonly retryPolicy?: RetryPolicy
}

/**
 * Takes due deliveries out of the store, sends them and settles them: as many at once per destination
 * as its concurrency allows, so that no endpoint has more requests in flight.
 */
export class Dispatcher {
  readonly #store: DeliveryStore
  readonly #runtime: Runtime
  readonly #retryPolicy: RetryPolicy
  readonly #lanes: ReadonlyMap<string, Lane>
  readonly #idleWaiters: Waiter[] = []
  #timer: Timer | undefined
  #run: Promise<void> | undefined
  #woken = false
  #stopped = false
  #failure: { readonly error: unknown } | undefined

  constructor(options: DispatcherOptions) {
    this.#store = options.store
    this.#runtime = options.runtime
    this.#retryPolicy = options.retryPolicy ?? defaultRetryPolicy
    this.#lanes = new Map(
      options.targets.map((target) => [target.destination.id, { ...target, inFlight: new Set() }]),
    )
  }

  /** Says that deliveries may be due. Cheap; call it after every change of the store. */
  wake(): void {
    this.#woken = true
    if (!this.#stopped) this.#run ??= this.#claimWhileWoken()
  }

  /**
   * Resolves once none of the destinations' deliveries is pending or in flight, or once the
   * dispatcher was stopped.
   *
   * @throws whatever made the store unusable
   */
  async idle(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error
    if (this.#stopped) return
    await new Promise<void>((resolve, reject) => {
      this.#idleWaiters.push({ resolve, reject })
      this.wake()
    })
  }

  /** Claims nothing more and resolves once what is in flight is settled. Idempotent. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    // A claim that is under way may still lease deliveries; it gives them back.
    await this.#run
    await Promise.all([...this.#lanes.values()].flatMap(({ inFlight }) => [...inFlight]))
    this.#endWaits()
  }

  async #claimWhileWoken(): Promise<void> {
    try {
      while (this.#woken && !this.#stopped) {
        this.#woken = false
        await this.#claimDue()
        await this.#planNext()
      }
    } catch (error) {
      this.#fail(error)
    }
    this.#run = undefined
  }

  async #claimDue(): Promise<void> {
    const shares = this.#freeLanes().map(({ destination, inFlight }) => ({
      destinationId: destination.id,
      deliveriesMax: destination.concurrency - inFlight.size,
    }))
    if (shares.length === 0) return
    const nowMs = this.#runtime.clock.nowMs()
    const claimed = await this.#store.claim({ nowMs, shares })
    if (this.#stopped) await this.#giveBack(claimed)
    else for (const delivery of claimed) this.#begin(delivery)
  }

  async #giveBack(deliveries: readonly LeasedDelivery[]): Promise<void> {
    await this.#store.settle({
      nowMs: this.#runtime.clock.nowMs(),
      settlements: deliveries.map((delivery) => ({ kind: 'returned', delivery })),
    })
  }

  #begin(delivery: LeasedDelivery): void {
    const lane = this.#lanes.get(delivery.destinationId)
    if (lane === undefined) return
    const run = this.#deliver(delivery, lane)
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        lane.inFlight.delete(run)
        this.wake()
      })
    lane.inFlight.add(run)
  }

  async #deliver(delivery: LeasedDelivery, { destination, sender }: Lane): Promise<void> {
    const settlement = await attempt(delivery, {
      runtime: this.#runtime,
      destination,
      post: (endpoint, body) => sender.post(endpoint, body),
      policy: this.#retryPolicy,
    })
    await this.#store.settle({
      nowMs: this.#runtime.clock.nowMs(),
      settlements: [settlement],
    })
    this.#report(settlement)
  }

  #report(settlement: Settlement): void {
    const { kind, delivery } = settlement
    if (kind === 'retry' || kind === 'returned') return
    this.#runtime.observer.settled({
      messageId: delivery.messageId,
      type: delivery.type,
      destinationId: delivery.destinationId,
      state: kind,
      attempts: delivery.attempts + 1,
      reason: kind === 'delivered' ? null : settlement.reason,
    })
  }

  /** Sets the alarm for the next delivery that can be claimed, or finds that there is none at all. */
  async #planNext(): Promise<void> {
    this.#timer?.cancel()
    const destinationIds = this.#freeLanes().map(({ destination }) => destination.id)
    const dueMs =
      destinationIds.length === 0 ? undefined : await this.#store.nextDueMs({ destinationIds })
    // An alarm set now would outlive the dispatcher and keep the process alive.
    if (this.#stopped) return
    if (dueMs !== undefined) {
      const delayMs = dueMs - this.#runtime.clock.nowMs()
      this.#timer = this.#runtime.clock.schedule(delayMs, () => this.wake())
    } else if (!this.#woken && this.#nothingInFlight()) {
      this.#endWaits()
    }
  }

  #nothingInFlight(): boolean {
    return [...this.#lanes.values()].every(({ inFlight }) => inFlight.size === 0)
  }

  #freeLanes(): readonly Lane[] {
    return [...this.#lanes.values()].filter(
      ({ destination, inFlight }) => inFlight.size < destination.concurrency,
    )
  }

  /** A store that cannot be used ends the work: whoever waits is told. */
  #fail(error: unknown): void {
    this.#failure ??= { error }
    this.#stopped = true
    this.#timer?.cancel()
    for (const waiter of this.#idleWaiters.splice(0)) waiter.reject(error)
  }

  #endWaits(): void {
    for (const waiter of this.#idleWaiters.splice(0)) waiter.resolve()
  }
}

interface Waiter {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

interface Lane extends DispatchTarget {
  /** What is being sent; each settles its delivery before it ends. */
  readonly inFlight: Set<Promise<void>>
}
