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
import type { SenderThreads } from '../webhook/index.ts'
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
  /** The destinations to which events may be routed. */
  readonly destinations: readonly SendingDestination[]
  /** Clock, randomness, ids, log and observer. */
  readonly runtime: Runtime
  /** The store in which deliveries wait. The pipeline closes it. */
  readonly store: DeliveryStore
  /**
   * Whether the store belongs to this pipeline alone and ends with it; false by default. If so, deliveries
   * whose endpoints stay down expire, so that the run can end.
   */
  readonly isStoreOwn?: boolean
  /**
   * The processes that deliver from the store; undefined if no other process may. They share the concurrency of
   * each endpoint. Nothing is sent until the store has answered the first heartbeat.
   */
  readonly processes?: DeliveringProcesses | undefined
  /** Whether to send deliveries; true by default. If false, they are left to other processes. */
  readonly delivers?: boolean
  /** How long to retry a delivery after its first attempt; 4 h by default. */
  readonly retryWindowMs?: number
  /** How long an endpoint may take to answer; 5 s by default, which is also the maximum. */
  readonly deadlineMs?: number
  /** Decides which addresses may be connected to; by default, all may. */
  readonly guard?: AddressGuard
  /** How long the store keeps settled deliveries; `defaultRetention` by default. */
  readonly retention?: RetentionPolicy
  /** Whether this pipeline purges the store; true by default. */
  readonly purges?: boolean
  /** Called when a request opens or reuses a connection. */
  readonly connection?: ConnectionListener
  /** Sends webhooks with a trace context; by default they have none. */
  readonly trace?: TraceRequest | undefined
  /** The threads that send webhooks, which the pipeline closes; this thread by default. */
  readonly senderThreads?: SenderThreads | undefined
  /** Counts the bytes that wait to be added to the store. */
  readonly adding?: AddingBytes
  /** Whether to wait while the store is temporarily unavailable. By default, an outage ends the work. */
  readonly outlastsOutages?: boolean
  /** Called with the error that made the store unusable. Nothing is sent after that. */
  readonly failed?: (error: unknown) => void
}

/** How often to look in the store for changes by other processes, such as a manual retry. */
const lookEveryMs = 1_000

/**
 * The least number of deliveries to keep ready for a destination if no other process uses the store. With 20,
 * the number for a usual concurrency, each claim brought 10, and endpoints waited for claims during every
 * commit.
 */
const ownReadyMin = 100

/**
 * The number of rows that one step of a purge deletes in a shared store. It can be high there, because a step
 * locks only the rows it deletes. Each step visits every destination: with 1,000 destinations, a purge in steps
 * of 200 rows takes four times as long.
 */
const sharedRowsAtOnce = 2_000

/** Takes calls from their acceptance to answered webhooks, in this process. */
export class Pipeline {
  readonly #options: PipelineOptions
  readonly #store: DeliveryStore
  readonly #targets: Targets
  readonly #dispatcher: Dispatcher
  readonly #shares: ProcessShares | undefined
  readonly #retention: Retention
  #intake: Intake
  #look: Timer | undefined
  #closed = false

  constructor(options: PipelineOptions) {
    this.#options = options
    this.#store = options.store
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
      dedupeWindowMs: () => this.#retention.policy.messageIdsMs,
      keepsParked: !isStoreOwn,
      outlastsOutages,
      maySend: () => shares?.maySend ?? true,
      peers: shares,
      readyMin: shares === undefined ? ownReadyMin : 0,
      ...(failed === undefined ? {} : { failed }),
    })
    this.#intake = this.#newIntake(options.destinations)
    options.processes?.listen((news) => this.#dispatcher.hear(news))
  }

  /**
   * Joins the processes that share the store, sends what is in it, and purges it. A pipeline whose store is its
   * own has nothing to start. Call it once.
   */
  start(): void {
    this.#shares?.start()
    if (this.#options.isStoreOwn === true) return
    if (this.#purges) this.#retention.start()
    this.#dispatcher.wake()
    this.#lookAgain()
  }

  /** The intake, to which calls are given. It is a new one after {@link replaceDestinations}. */
  get intake(): Intake {
    return this.#intake
  }

  /**
   * Replaces the destinations. Requests in flight finish with the old settings. An unchanged endpoint keeps its
   * connections and its breaker. Deliveries to a removed destination stay in the store.
   */
  replaceDestinations(destinations: readonly SendingDestination[], guard?: AddressGuard): void {
    const { targets, retired } = this.#targets.configure(this.#sending({ destinations, guard }))
    this.#intake = this.#newIntake(destinations)
    void this.#dispatcher.reconfigure(targets).then(() => this.#targets.close(retired))
  }

  /** Replaces the retention policy, and purges by it at once. */
  replaceRetention(policy: RetentionPolicy): void {
    this.#retention.replacePolicy(policy)
  }

  /**
   * Stores events whose deliveries are already known, bypassing the intake.
   *
   * @param traceparent - the trace context to keep with the deliveries
   * @throws the error with which the store refused them
   */
  add(events: readonly NewEvent[], traceparent?: string): Promise<readonly AddOutcome[]> {
    const { adding } = this.#options
    if (adding === undefined) return this.#dispatcher.add(events, traceparent)
    return adding.add(events, (each) => this.#dispatcher.add(each, traceparent))
  }

  /** Number of requests to endpoints in flight. */
  get requests(): number {
    return this.#dispatcher.requests
  }

  /** Why the process sends nothing for now; undefined if it may send. */
  get hindrance(): SendingHindrance | undefined {
    return this.#shares?.hindrance
  }

  /** Whether this process is the first of the live processes that look after the store. */
  get isFirst(): boolean {
    return this.#shares?.isFirst ?? true
  }

  /** Makes the dispatcher look for deliveries that another process may have added to the store. */
  wake(dueTimes?: readonly DueTime[]): void {
    this.#dispatcher.wake(dueTimes)
  }

  /**
   * Resolves once every delivery has ended, or the pipeline was stopped. If the store outlives the pipeline,
   * doesn't wait for deliveries whose endpoints were down for a whole retry window.
   */
  idle(): Promise<void> {
    return this.#dispatcher.idle()
  }

  /** Reads the ledger of all deliveries, or of those to one destination. */
  ledger(request?: { readonly destinationId: string }): Promise<DeliveryLedger> {
    return this.#store.ledger(request)
  }

  /**
   * Starts no more requests, and aborts those in flight after `graceMs` of real time. Deliveries that were not
   * sent stay pending.
   */
  async stop(graceMs: number): Promise<void> {
    const stopped = this.#dispatcher.stop()
    const cut = systemClock.schedule(graceMs, () => void this.#targets.close())
    await stopped
    cut.cancel()
  }

  /** Stops, then closes the connections and the store. Pending deliveries stay in a persistent store. */
  async close(): Promise<void> {
    this.#closed = true
    this.#look?.cancel()
    await Promise.all([this.stop(0), this.#retention.stop()])
    // Leave only now, when no request is in flight: a different process takes over at once.
    await this.#shares?.close()
    await this.#targets.close()
    await this.#options.senderThreads?.close()
    await this.#store.close()
  }

  get #purges(): boolean {
    return this.#options.purges ?? true
  }

  #newIntake(destinations: readonly SendingDestination[]): Intake {
    const { runtime } = this.#options
    return new Intake({ add: this.add.bind(this), destinations, runtime })
  }

  /** Leaves out destinations to which nothing is sent. Their deliveries stay in the store. */
  #sending({ destinations, guard }: Sending): Sending {
    const { delivers = true } = this.#options
    return { destinations: destinations.filter(({ enabled }) => delivers && enabled), guard }
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
    if (targets !== undefined) void this.#dispatcher.reconfigure(targets)
  }

  #newRetention(): Retention {
    const { runtime, processes, retention: policy } = this.#options
    const common = { store: this.#store, policy, runtime }
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
