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
  type TraceRequest,
} from './targets.ts'

/** Options of a pipeline. */
export interface PipelineOptions {
  /** Where events may go. */
  readonly destinations: readonly SendingDestination[]
  /** Clock, randomness, ids, log and observer. */
  readonly runtime: Runtime
  /** Where deliveries wait. The pipeline closes it. */
  readonly store: DeliveryStore
  /**
   * Whether the store belongs to this pipeline alone and ends with it. If so, deliveries whose endpoints stay
   * down expire, so that a run can end. False by default.
   */
  readonly isStoreOwn?: boolean
  /**
   * The processes that deliver from the store, if there can be others. They share the concurrency of each
   * endpoint. Nothing is sent before the first answer.
   */
  readonly processes?: DeliveringProcesses | undefined
  /** Whether to send deliveries; true by default. If not, they are left to other processes. */
  readonly delivers?: boolean
  /** From a delivery's first attempt to the last moment another may start; 4 h by default. */
  readonly retryWindowMs?: number
  /** Time that an endpoint has to answer; 5 s by default, and at most. */
  readonly deadlineMs?: number
  /** Decides which addresses may be connected to; any without a guard. */
  readonly guard?: AddressGuard
  /** How long the store keeps settled deliveries; {@link defaultRetention} by default. */
  readonly retention?: RetentionPolicy
  /** Whether this pipeline purges the store; true by default. */
  readonly purges?: boolean
  /** Called when a request opens or reuses a connection. */
  readonly connection?: ConnectionListener
  /** Sends webhooks with a trace context; by default they have none. */
  readonly trace?: TraceRequest | undefined
  /** Counts the bytes that are being added. */
  readonly adding?: AddingBytes
  /** Whether to wait while the store is temporarily unusable. By default an outage ends the work. */
  readonly outlastsOutages?: boolean
  /** Called with the error that made the store unusable. Nothing is sent after it. */
  readonly failed?: (error: unknown) => void
}

/** How often to look in the store for changes by other processes, such as a retry by hand. */
const lookEveryMs = 1_000

/**
 * Deliveries that are ready for a destination of a store without other processes. With the 20 of a usual
 * concurrency, each claim brought 10, and endpoints waited for claims during every commit.
 */
const ownReadyMin = 100

/**
 * Rows that one step of a purge deletes in a shared store, where it locks only those rows. Each step visits
 * every destination: with 1,000 of them, steps of 200 rows take four times as long.
 */
const sharedRowsAtOnce = 2_000

/** Takes calls from their acceptance to answered webhooks, in this process. */
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
      readyMin: shares === undefined ? ownReadyMin : 0,
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
   * Replaces the destinations. Requests under way end with the old ones. An unchanged endpoint keeps its
   * connections and its breaker. Deliveries to a removed destination stay in the store.
   */
  replaceDestinations(destinations: readonly SendingDestination[], guard?: AddressGuard): void {
    const { targets, retired } = this.#targets.configure(this.#sending({ destinations, guard }))
    const dedupeWindowMs = this.#retentionPolicy.messageIdsMs
    this.#intake = this.#newIntake(destinations)
    void this.#dispatcher
      .reconfigure({ targets, dedupeWindowMs })
      .then(() => this.#targets.close(retired))
  }

  /** Replaces the retention policy. The time for messageIds changes with the next destinations. */
  replaceRetention(policy: RetentionPolicy): void {
    this.#retentionPolicy = policy
    void this.#retention.stop()
    this.#retention = this.#newRetention()
    if (this.#purges) this.#retention.start()
  }

  /**
   * Stores events with known deliveries, bypassing the intake.
   *
   * @param traceparent - the trace context to keep with the deliveries
   * @throws the error with which the store refuses them
   */
  add(events: readonly NewEvent[], traceparent?: string): Promise<readonly AddOutcome[]> {
    const { adding } = this.#options
    if (adding === undefined) return this.#dispatcher.add(events, traceparent)
    return adding.add(events, (each) => this.#dispatcher.add(each, traceparent))
  }

  /** Requests to endpoints in flight. */
  get requests(): number {
    return this.#dispatcher.requests
  }

  /** Why the process sends nothing for now; undefined if it may send. */
  get hindrance(): SendingHindrance | undefined {
    return this.#shares?.hindrance
  }

  /** Whether this process came first of the live processes that use the store. */
  get isFirst(): boolean {
    return this.#shares?.isFirst ?? true
  }

  /** Wakes the dispatcher for work that another process may have left in the store. */
  wake(dueTimes?: readonly DueTime[]): void {
    this.#dispatcher.wake(dueTimes)
  }

  /**
   * Resolves once every delivery has ended, or the pipeline was stopped. Unless the store ends with the
   * pipeline, doesn't wait for deliveries whose endpoints were down for a whole retry window.
   */
  idle(): Promise<void> {
    return this.#dispatcher.idle()
  }

  /** Reads the ledger. With a destination, counts its deliveries only. */
  ledger(request?: { readonly destinationId: string }): Promise<DeliveryLedger> {
    return this.#store.ledger(request)
  }

  /**
   * Starts no more requests, and cuts those under way off after `graceMs` of real time. Deliveries that were
   * not sent stay pending.
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
    // Once it leaves, another process takes over, so no request may be under way.
    await this.#shares?.close()
    await this.#targets.close()
    await this.#store.close()
  }

  get #purges(): boolean {
    return this.#options.purges ?? true
  }

  #newIntake(destinations: readonly SendingDestination[]): Intake {
    const { runtime } = this.#options
    return new Intake({ add: this.add.bind(this), destinations, runtime })
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

  /** Applies the current shares. Connections and breakers stay. */
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
