import {
  Dispatcher,
  defaultRetention,
  defaultRetryPolicy,
  Retention,
  type DeliveryStore,
  type RetentionPolicy,
} from '../delivery/index.ts'
import { Intake } from '../intake/index.ts'
import type { DeliveryLedger, Destination } from '../model/index.ts'
import { systemClock, type Runtime, type Timer } from '../runtime/index.ts'
import { MemoryStore } from '../store/index.ts'
import { WebhookSender } from '../webhook/index.ts'

/** What a pipeline is made of. */
export interface PipelineOptions {
  /** Where events may go. */
  readonly destinations: readonly Destination[]
  /** Clock, randomness, ids, log and observer. */
  readonly runtime: Runtime
  /** Where deliveries wait; in memory by default. It is closed with the pipeline. */
  readonly store?: DeliveryStore
  /** From a delivery's first attempt to the last moment another may start; 4 h by default. */
  readonly retryWindowMs?: number
  /** Time an endpoint has to answer; 5 s by default and at the most. */
  readonly deadlineMs?: number
  /** How long the store remembers what is settled; {@link defaultRetention} by default. */
  readonly retention?: RetentionPolicy
}

/** How often a store is looked at for what somebody else has changed, such as a retry by hand. */
const lookEveryMs = 1_000

/** From accepted calls to answered webhooks, in this process. */
export class Pipeline {
  /** Where calls enter. */
  readonly intake: Intake
  readonly #store: DeliveryStore
  readonly #dispatcher: Dispatcher
  readonly #senders: readonly WebhookSender[]
  readonly #retention: Retention
  readonly #runtime: Runtime
  #look: Timer | undefined
  #closed = false

  constructor(options: PipelineOptions) {
    const { destinations, runtime, deadlineMs, retention = defaultRetention } = options
    const targets = destinations.map((destination) => ({
      destination,
      sender: new WebhookSender({
        destination,
        ...(deadlineMs === undefined ? {} : { deadlineMs }),
      }),
    }))
    this.#senders = targets.map(({ sender }) => sender)
    this.#store = options.store ?? new MemoryStore()
    this.#dispatcher = new Dispatcher({
      store: this.#store,
      targets,
      runtime,
      dedupeWindowMs: retention.messageIdsMs,
      retryPolicy: {
        ...defaultRetryPolicy,
        windowMs: options.retryWindowMs ?? defaultRetryPolicy.windowMs,
      },
    })
    this.#retention = new Retention({ store: this.#store, policy: retention, runtime })
    this.#runtime = runtime
    // A store that was made for this pipeline ends with it, and nobody else sees it.
    if (options.store !== undefined) {
      this.#retention.start()
      this.#lookAgain()
    }
    this.intake = new Intake({
      add: (events) => this.#dispatcher.add(events),
      destinations,
      runtime,
    })
  }

  /** Resolves once every delivery came to its end, or the pipeline was stopped. */
  idle(): Promise<void> {
    return this.#dispatcher.idle()
  }

  /** The books so far; with a destination, its deliveries only. */
  ledger(request?: { readonly destinationId: string }): Promise<DeliveryLedger> {
    return this.#store.ledger(request)
  }

  /**
   * Starts no further request, gives those under way `graceMs` of real time to end, then cuts them off. Deliveries
   * that were not made stay pending in the books.
   */
  async stop(graceMs: number): Promise<void> {
    const stopped = this.#dispatcher.stop()
    const cut = systemClock.schedule(graceMs, () => void this.#closeSenders())
    await stopped
    cut.cancel()
  }

  /** Lets go of connections and the store; what is still pending stays in a store that keeps it. */
  async close(): Promise<void> {
    this.#closed = true
    this.#look?.cancel()
    await Promise.all([this.stop(0), this.#retention.stop()])
    await this.#closeSenders()
    await this.#store.close()
  }

  #lookAgain(): void {
    if (this.#closed) return
    this.#look = this.#runtime.clock.schedule(lookEveryMs, () => {
      this.#dispatcher.wake()
      this.#lookAgain()
    })
  }

  async #closeSenders(): Promise<void> {
    await Promise.all(this.#senders.map((sender) => sender.close()))
  }
}
