import {
  Dispatcher,
  Retention,
  type AddOutcome,
  type DeliveringProcesses,
  type DeliveryStore,
  type DueTime,
  type NewEvent,
  type RetentionPolicy,
} from '../delivery/index.ts'
import type { AddressGuard } from '../http/index.ts'
import { Intake } from '../intake/index.ts'
import type { DeliveryLedger, Destination } from '../model/index.ts'
import { systemClock, type Runtime, type Timer } from '../runtime/index.ts'
import type { Store } from '../store/index.ts'
import type { AddingBytes } from './adding-bytes.ts'
import { ProcessShares, type SendingHindrance } from './process-shares.ts'
import { Targets, type Sending, type SendingDestination, type TargetsOptions } from './targets.ts'

/** The settings of a {@link Pipeline}: only a store, destinations and a runtime are required. */
export interface PipelineOptions extends Omit<TargetsOptions, 'shareOf'> {
  readonly destinations: readonly SendingDestination[]
  readonly runtime: Runtime
  /**
   * The pipeline closes it. If it has `processes`, they share each endpoint's concurrency, and nothing is sent until the
   * store has answered the first heartbeat.
   */
  readonly store: DeliveryStore & Pick<Store, 'processes'>
  /**
   * True if the store belongs to this pipeline alone and ends with it; false by default. A delivery in such a store
   * expires if its endpoints stay down, so that {@link Pipeline.idle} can resolve.
   */
  readonly isStoreOwn?: boolean
  /** Whether to send deliveries, or leave them to other processes; true by default. */
  readonly delivers?: boolean
  /** Decides which addresses may be connected to; by default, all may. */
  readonly guard?: AddressGuard
  /** How long the store keeps settled deliveries; `defaultRetention` by default. */
  readonly retention?: RetentionPolicy
  readonly adding?: AddingBytes
  /**
   * True for the pipeline of a service: it waits while the store is temporarily unusable, and purges a shared store. By
   * default, an outage ends all work, and a shared store is left to the services that purge it, because their retention
   * may differ from this pipeline's.
   */
  readonly isService?: boolean
  /** Called with the error that made the store unusable. Nothing is sent afterwards. */
  readonly failed?: (error: unknown) => void
}

/** How often to look in the store for deliveries that other processes made due, for example by a manual retry. */
const lookEveryMs = 1_000

/**
 * Minimum number of deliveries to keep ready for a destination, if no other process uses the store. A claim waits while
 * the store commits. With only 20 ready, a destination ran out of deliveries during every commit.
 */
const ownReadyMin = 100

/**
 * Rows that one step of a purge deletes in a shared store. A step locks only these rows, but visits every destination:
 * with 1,000 destinations, a purge in steps of 200 rows takes four times as long.
 */
const sharedRowsAtOnce = 2_000

/** Stores accepted calls, and delivers them as webhooks. */
export class Pipeline {
  readonly #options: PipelineOptions
  readonly #targets: Targets
  readonly #dispatcher: Dispatcher
  readonly #shares: ProcessShares | undefined
  readonly #retention: Retention
  #intake: Intake
  #look: Timer | undefined

  constructor(options: PipelineOptions) {
    this.#options = options
    const { store, runtime, retention: policy } = options
    const { processes } = store
    const rowsAtOnce = processes && sharedRowsAtOnce
    this.#retention = new Retention({ store, policy, runtime, rowsAtOnce })
    const shares = this.#newShares(processes)
    this.#shares = shares
    const shareOf = shares && ((destination: Destination) => shares.shareOf(destination))
    this.#targets = new Targets({ ...options, shareOf })
    const { isStoreOwn = false, failed, isService = false } = options
    this.#dispatcher = new Dispatcher({
      store,
      targets: this.#targets.configure(this.#sending(options)).targets,
      runtime,
      dedupeWindowMs: () => this.#retention.policy.messageIdsMs,
      keepsParked: !isStoreOwn,
      outlastsOutages: isService,
      maySend: () => shares?.maySend ?? true,
      peers: shares,
      readyMin: shares === undefined ? ownReadyMin : 0,
      failed,
    })
    this.#intake = this.#newIntake(options.destinations)
    processes?.listen((news) => this.#dispatcher.hear(news))
  }

  /** Joins the processes that share the store, sends its deliveries and purges it. Not needed if `isStoreOwn`. */
  start(): void {
    this.#shares?.start()
    if (this.#options.isStoreOwn === true) return
    if (this.#shares === undefined || this.#options.isService === true) this.#retention.start()
    this.#dispatcher.wake()
    this.#lookAgain()
  }

  /** The intake for calls. {@link replaceDestinations} makes a new one. */
  get intake(): Intake {
    return this.#intake
  }

  /**
   * Replaces the destinations. Requests in flight finish with the old settings. Unchanged endpoints keep their
   * connections and breakers. Deliveries to removed destinations stay in the store.
   */
  replaceDestinations(destinations: readonly SendingDestination[], guard?: AddressGuard): void {
    const { targets, retired } = this.#targets.configure(this.#sending({ destinations, guard }))
    this.#intake = this.#newIntake(destinations)
    void this.#dispatcher.reconfigure(targets).then(() => this.#targets.close(retired))
  }

  /** Replaces the retention policy, and applies it at once. */
  replaceRetention(policy: RetentionPolicy): void {
    this.#retention.replacePolicy(policy)
  }

  /** Stores events whose deliveries are already known, bypassing the intake. Throws the store's error. */
  add(events: readonly NewEvent[], traceparent?: string): Promise<readonly AddOutcome[]> {
    const { adding } = this.#options
    if (adding === undefined) return this.#dispatcher.add(events, traceparent)
    return adding.add(events, (each) => this.#dispatcher.add(each, traceparent))
  }

  get requests(): number {
    return this.#dispatcher.requests
  }

  /** Why the process sends nothing for now; undefined if it may send. */
  get hindrance(): SendingHindrance | undefined {
    return this.#shares?.hindrance
  }

  /** Whether this process, of all that share the store, reports the store's metrics. */
  get isFirst(): boolean {
    return this.#shares?.isFirst ?? true
  }

  /** Looks for deliveries that another process may have added to the store. */
  wake(dueTimes?: readonly DueTime[]): void {
    this.#dispatcher.wake(dueTimes)
  }

  /**
   * Resolves once every delivery has ended, or the pipeline has stopped. Doesn't wait for deliveries that stay in the
   * store because their endpoints have been down for a whole retry window.
   */
  idle(): Promise<void> {
    return this.#dispatcher.idle()
  }

  /** Reads the ledger of all deliveries, or of those to one destination. */
  ledger(request?: { readonly destinationId: string }): Promise<DeliveryLedger> {
    return this.#options.store.ledger(request)
  }

  /** Starts no more requests, and aborts those in flight after `graceMs` of real time. Others stay pending. */
  async stop(graceMs: number): Promise<void> {
    const stopped = this.#dispatcher.stop()
    const cut = systemClock.schedule(graceMs, () => void this.#targets.close())
    await stopped
    cut.cancel()
  }

  /** Stops, then closes the connections and the store. Pending deliveries stay in a persistent store. */
  async close(): Promise<void> {
    this.#look?.cancel()
    await Promise.all([this.stop(0), this.#retention.stop()])
    // Leave only after the last request has ended, because other processes take over at once.
    await this.#shares?.close()
    await this.#targets.close()
    await this.#options.senderThreads?.close()
    await this.#options.store.close()
  }

  #newIntake(destinations: readonly SendingDestination[]): Intake {
    const { runtime } = this.#options
    return new Intake({ add: this.add.bind(this), destinations, runtime })
  }

  /** Leaves out destinations that get nothing from this process. Their deliveries stay in the store. */
  #sending({ destinations, guard }: Sending): Sending {
    const { delivers = true } = this.#options
    return { destinations: destinations.filter(({ enabled }) => delivers && enabled), guard }
  }

  #newShares(processes: DeliveringProcesses | undefined): ProcessShares | undefined {
    if (processes === undefined) return undefined
    return new ProcessShares({
      processes,
      destinationIds: () => this.#targets.destinationIds,
      looksAfterStore: this.#options.isService === true,
      runtime: this.#options.runtime,
      changed: () => this.#share(),
      failed: (error) => this.#dispatcher.fail(error),
    })
  }

  /** Applies the current shares, without affecting connections or breakers. */
  #share(): void {
    const targets = this.#targets.share()
    if (targets !== undefined) void this.#dispatcher.reconfigure(targets)
  }

  #lookAgain(): void {
    this.#look = this.#options.runtime.clock.schedule(lookEveryMs, () => {
      this.#dispatcher.wake()
      this.#lookAgain()
    })
  }
}
