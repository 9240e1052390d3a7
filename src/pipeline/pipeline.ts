import {
  defaultRetention,
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
import type { AddingBytes } from './adding-bytes.ts'
import { ProcessShares, type SendingHindrance } from './process-shares.ts'
import {
  Targets,
  type ConnectionListener,
  type Sending,
  type SendingDestination,
} from './targets.ts'

/** Options of a pipeline. */
export interface PipelineOptions {
  /** Where events may go. */
  readonly destinations: readonly SendingDestination[]
  /** Clock, randomness, ids, log and observer. */
  readonly runtime: Runtime
  /** Where deliveries wait. It is closed with the pipeline. */
  readonly store: DeliveryStore
  /**
   * Whether the store belongs to this pipeline alone and ends with it. The pipeline then gives up
   * deliveries whose endpoints stay down, so that a run can end. False by default.
   */
  readonly isStoreOwn?: boolean
  /**
   * The processes that deliver from that store, where there can be others: what endpoints may have in
   * flight is shared among them. Nothing is sent before the first answer.
   */
  readonly processes?: DeliveringProcesses | undefined
  /** Whether deliveries are sent, as by default, or left in the store to other processes. */
  readonly delivers?: boolean
  /** From a delivery's first attempt to the last moment another may start; 4 h by default. */
  readonly retryWindowMs?: number
  /** Time an endpoint has to answer; 5 s by default, which is also the maximum. */
  readonly deadlineMs?: number
  /** Which addresses may be connected to; any when there is none. */
  readonly guard?: AddressGuard
  /** How long the store keeps settled deliveries; {@link defaultRetention} by default. */
  readonly retention?: RetentionPolicy
  /** Whether this pipeline purges the store; true by default. */
  readonly purges?: boolean
  /** Learns of connections to endpoints. */
  readonly connection?: ConnectionListener
  /** Counts the bytes that are being added. */
  readonly adding?: AddingBytes
  /** Whether a store that cannot be used for now is waited for; by default that ends the work. */
  readonly outlastsOutages?: boolean
  /** Gets the error that made the store unusable; nothing is sent after it. */
  readonly failed?: (error: unknown) => void
}

/** How often to look in the store for changes by other processes, such as a retry by hand. */
const lookEveryMs = 1_000

/**
 * In a store that processes share, a purge locks only the rows that it deletes. Each step looks at every destination:
 * with 1,000 of them, steps of 200 rows take four times as long.
 */
const sharedRowsAtOnce = 2_000

/** From accepted calls to answered webhooks, in this process. */
export class Pipeline {
  readonly #options: PipelineOptions
  readonly #store: DeliveryStore
  readonly #targets: Targets
  readonly #dispatcher: Dispatcher
  readonly #shares: ProcessShares | undefined
  #retentionPolicy: RetentionPolicy
  #retention: Retention
  #intake: Intake
  #look: Timer | undefined
  #closed = false

  constructor(options: PipelineOptions) {
    this.#options = options
    this.#store = options.store
    this.#retentionPolicy = options.retention ?? defaultRetention
    this.#retention = this.#newRetention()
    const shares = this.#newShares(options.processes)
    this.#shares = shares
    const shareOf = shares && ((destination: Destination) => shares.shareOf(destination))
    this.#targets = new Targets({ ...options, shareOf })
    const { isStoreOwn = false, failed, outlastsOutages = false } = options
    this.#dispatcher = new Dispatcher({
      store: this.#store,
      targets: this.#targets.configure(this.#sending(options)).targets,
      runtime: options.runtime,
      dedupeWindowMs: this.#retentionPolicy.messageIdsMs,
      keepsParked: !isStoreOwn,
      outlastsOutages,
      maySend: () => shares?.maySend ?? true,
      peers: shares,
      ...(failed === undefined ? {} : { failed }),
    })
    this.#intake = this.#newIntake(options.destinations)
    if (!isStoreOwn) {
      if (this.#purges) this.#retention.start()
      this.#lookAgain()
    }
    shares?.start()
    options.processes?.listen((news) => this.#dispatcher.hear(news))
  }

  /** Where calls enter. */
  get intake(): Intake {
    return this.#intake
  }

  /**
   * Changes the destinations. Requests under way end as they began. An unchanged endpoint keeps its
   * connections and its breaker. Deliveries for a removed destination stay in the store.
   */
  replaceDestinations(destinations: readonly SendingDestination[], guard?: AddressGuard): void {
    const { targets, retired } = this.#targets.configure(this.#sending({ destinations, guard }))
    const dedupeWindowMs = this.#retentionPolicy.messageIdsMs
    this.#intake = this.#newIntake(destinations)
    void this.#dispatcher
      .reconfigure({ targets, dedupeWindowMs })
      .then(() => this.#targets.close(retired))
  }

  /** Remembers for another time from now on; for messageIds with the next destinations. */
  replaceRetention(policy: RetentionPolicy): void {
    this.#retentionPolicy = policy
    void this.#retention.stop()
    this.#retention = this.#newRetention()
    if (this.#purges) this.#retention.start()
  }

  /**
   * Stores events with known deliveries, bypassing the intake.
   *
   * @throws the error with which the store refuses them
   */
  add(events: readonly NewEvent[]): Promise<readonly AddOutcome[]> {
    const { adding } = this.#options
    if (adding === undefined) return this.#dispatcher.add(events)
    return adding.add(events, (each) => this.#dispatcher.add(each))
  }

  /** Requests to endpoints in flight. */
  get requests(): number {
    return this.#dispatcher.requests
  }

  /** Why nothing may be sent for now; undefined while something may. */
  get hindrance(): SendingHindrance | undefined {
    return this.#shares?.hindrance
  }

  /** Whether this process is the first of those alive that use the store. */
  get isFirst(): boolean {
    return this.#shares?.isFirst ?? true
  }

  /** Looks in the store for work that another process may have left. */
  wake(dueTimes?: readonly DueTime[]): void {
    this.#dispatcher.wake(dueTimes)
  }

  /**
   * Resolves once every delivery has ended, or the pipeline was stopped. Unless the store is its own, it doesn't
   * wait for deliveries whose endpoints were down for a whole retry window.
   */
  idle(): Promise<void> {
    return this.#dispatcher.idle()
  }

  /** The ledger so far; with a destination, its deliveries only. */
  ledger(request?: { readonly destinationId: string }): Promise<DeliveryLedger> {
    return this.#store.ledger(request)
  }

  /**
   * Starts no further request, gives those under way `graceMs` of real time to end, then cuts them off.
   * Deliveries that were not made stay pending.
   */
  async stop(graceMs: number): Promise<void> {
    const stopped = this.#dispatcher.stop()
    const cut = systemClock.schedule(graceMs, () => void this.#targets.close())
    await stopped
    cut.cancel()
  }

  /** Closes connections and the store. Pending deliveries stay in a store that keeps them. */
  async close(): Promise<void> {
    this.#closed = true
    this.#look?.cancel()
    await Promise.all([this.stop(0), this.#retention.stop()])
    // When another process takes over, this one must have no request under way.
    await this.#shares?.close()
    await this.#targets.close()
    await this.#store.close()
  }

  get #purges(): boolean {
    return this.#options.purges ?? true
  }

  #newIntake(destinations: readonly SendingDestination[]): Intake {
    const { runtime } = this.#options
    return new Intake({ add: (events) => this.add(events), destinations, runtime })
  }

  #sending(sending: Sending): Sending {
    const { delivers = true } = this.#options
    return delivers ? sending : { ...sending, destinations: [] }
  }

  #newShares(processes: DeliveringProcesses | undefined): ProcessShares | undefined {
    if (processes === undefined) return undefined
    return new ProcessShares({
      processes,
      destinationIds: () => this.#targets.destinationIds,
      looksAfterStore: this.#purges,
      runtime: this.#options.runtime,
      changed: () => this.#share(),
      failed: (error) => this.#dispatcher.fail(error),
    })
  }

  /** Sends as much as the shares of today allow; connections and breakers stay. */
  #share(): void {
    const targets = this.#targets.share()
    if (targets === undefined) return
    const dedupeWindowMs = this.#retentionPolicy.messageIdsMs
    void this.#dispatcher.reconfigure({ targets, dedupeWindowMs })
  }

  #newRetention(): Retention {
    const { runtime, processes } = this.#options
    const common = { store: this.#store, policy: this.#retentionPolicy, runtime }
    return new Retention(processes ? { ...common, rowsAtOnce: sharedRowsAtOnce } : common)
  }

  #lookAgain(): void {
    if (this.#closed) return
    this.#look = this.#options.runtime.clock.schedule(lookEveryMs, () => {
      this.#dispatcher.wake()
      this.#lookAgain()
    })
  }
}
