import {
  defaultRetention,
  Retention,
  type AddOutcome,
  type DeliveryStore,
  type NewEvent,
  type RetentionPolicy,
} from '../delivery/index.ts'
import type { AddressGuard } from '../http/index.ts'
import type { Intake } from '../intake/index.ts'
import { limits, type DeliveryLedger } from '../model/index.ts'
import type { Runtime, Timer } from '../runtime/index.ts'
import { MemoryStore } from '../store/index.ts'
import { Line, type ConnectionListener, type SendingDestination } from './line.ts'
import type { PendingCount } from './pending-count.ts'

/** What a pipeline is made of. */
export interface PipelineOptions {
  /** Where events may go. */
  readonly destinations: readonly SendingDestination[]
  /** Clock, randomness, ids, log and observer. */
  readonly runtime: Runtime
  /** Where deliveries wait; in memory by default. It is closed with the pipeline. */
  readonly store?: DeliveryStore
  /** From a delivery's first attempt to the last moment another may start; 4 h by default. */
  readonly retryWindowMs?: number
  /** Time an endpoint has to answer; 5 s by default and at the most. */
  readonly deadlineMs?: number
  /** Which addresses may be connected to; any when there is none. */
  readonly guard?: AddressGuard
  /** How long the store remembers what is settled; {@link defaultRetention} by default. */
  readonly retention?: RetentionPolicy
  /** Is told of connections to endpoints. */
  readonly connection?: ConnectionListener
  /** Counts what is added. */
  readonly pending?: PendingCount
  /** Is told what made the store unusable: nothing is sent any more. */
  readonly failed?: (error: unknown) => void
}

/** How often a store is looked at for what somebody else has changed, such as a retry by hand. */
const lookEveryMs = 1_000

/** From accepted calls to answered webhooks, in this process. */
export class Pipeline {
  readonly #options: PipelineOptions
  readonly #store: DeliveryStore
  readonly #retiring = new Set<Line>()
  #retentionPolicy: RetentionPolicy
  #retention: Retention
  #line: Line
  #look: Timer | undefined
  #closed = false

  constructor(options: PipelineOptions) {
    this.#options = options
    this.#store = options.store ?? new MemoryStore()
    this.#retentionPolicy = options.retention ?? defaultRetention
    this.#retention = this.#newRetention()
    this.#line = this.#newLine(options.destinations, options.guard)
    // A store that was made for this pipeline ends with it, and nobody else sees it.
    if (options.store !== undefined) {
      this.#retention.start()
      this.#lookAgain()
    }
  }

  /** Where calls enter. */
  get intake(): Intake {
    return this.#line.intake
  }

  /**
   * Sends to other destinations from now on. Requests to those before are let end; what is not sent
   * stays in the store, for those that are still there.
   */
  replaceDestinations(destinations: readonly SendingDestination[], guard?: AddressGuard): void {
    const before = this.#line
    this.#line = this.#newLine(destinations, guard)
    this.#retiring.add(before)
    void this.#retire(before)
  }

  /** Remembers for another time from now on; for messageIds with the next destinations. */
  replaceRetention(policy: RetentionPolicy): void {
    this.#retentionPolicy = policy
    void this.#retention.stop()
    this.#retention = this.#newRetention()
    this.#retention.start()
  }

  /**
   * Takes events in whose deliveries are known, past the intake.
   *
   * @throws whatever makes the store refuse them
   */
  add(events: readonly NewEvent[]): Promise<readonly AddOutcome[]> {
    return this.#line.add(events)
  }

  /**
   * Resolves once every delivery came to its end, or the pipeline was stopped. In a given store,
   * deliveries whose endpoints were down for a whole retry window stay and are not waited for.
   */
  idle(): Promise<void> {
    return this.#line.dispatcher.idle()
  }

  /** The books so far; with a destination, its deliveries only. */
  ledger(request?: { readonly destinationId: string }): Promise<DeliveryLedger> {
    return this.#store.ledger(request)
  }

  /**
   * Starts no further request, gives those under way `graceMs` of real time to end, then cuts them off.
   * Deliveries that were not made stay pending in the books.
   */
  async stop(graceMs: number): Promise<void> {
    const lines = [this.#line, ...this.#retiring]
    await Promise.all(lines.map((line) => line.stop(graceMs)))
  }

  /** Lets go of connections and the store; what is still pending stays in a store that keeps it. */
  async close(): Promise<void> {
    this.#closed = true
    this.#look?.cancel()
    await Promise.all([this.stop(0), this.#retention.stop()])
    await Promise.all([this.#line, ...this.#retiring].map((line) => line.close()))
    await this.#store.close()
  }

  #newLine(destinations: readonly SendingDestination[], guard: AddressGuard | undefined): Line {
    const { runtime, retryWindowMs, deadlineMs, connection, pending, failed } = this.#options
    const { observer } = runtime
    const line: Line = new Line({
      destinations,
      store: this.#store,
      runtime: {
        ...runtime,
        observer: {
          request: (record) => observer.request(record),
          settled: (delivery) => observer.settled(delivery),
          // The breakers of a line that retires say nothing about those of today.
          endpoint: (change) => {
            if (line === this.#line) observer.endpoint(change)
          },
        },
      },
      retryWindowMs,
      deadlineMs,
      guard,
      dedupeWindowMs: this.#retentionPolicy.messageIdsMs,
      connection,
      pending,
      // In a store of our own nobody would find them later.
      keepsParked: this.#options.store !== undefined,
      ...(failed === undefined ? {} : { failed }),
    })
    return line
  }

  #newRetention(): Retention {
    const { runtime } = this.#options
    return new Retention({ store: this.#store, policy: this.#retentionPolicy, runtime })
  }

  /** Lets a line end what it has begun: no request takes longer than its deadline. */
  async #retire(line: Line): Promise<void> {
    await line.stop(limits.endpointDeadlineMs)
    await line.close()
    this.#retiring.delete(line)
    // What it gave back is for the line of today.
    this.#line.dispatcher.wake()
  }

  #lookAgain(): void {
    if (this.#closed) return
    this.#look = this.#options.runtime.clock.schedule(lookEveryMs, () => {
      this.#line.dispatcher.wake()
      this.#lookAgain()
    })
  }
}
