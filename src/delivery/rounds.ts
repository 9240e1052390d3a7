import { hiddenEndpoint } from '../model/index.ts'
import type { Runtime, Timer } from '../runtime/index.ts'
import { judge, type RequestOutcome } from '../webhook/index.ts'
import { attempt } from './attempt.ts'
import type { BreakerChange } from './circuit-breaker.ts'
import type { DestinationQueue, Start } from './destination-queue.ts'
import type { DeliverySender } from './dispatcher-options.ts'
import type { EndpointGate } from './endpoint-gate.ts'
import type { Outbox } from './outbox.ts'
import { probeGraceMs } from './process-share.ts'
import type { BreakerNews, Peers } from './processes-port.ts'
import type { RetryPolicy } from './retry-policy.ts'
import { Shortage } from './shortage.ts'
import type { LeasedDelivery } from './store-port.ts'

/** A destination's queue, and how to send and retry its deliveries. */
export interface RoundTarget {
  readonly queue: DestinationQueue
  readonly sender: DeliverySender
  readonly retryPolicy: RetryPolicy
}

interface RoundsOptions {
  readonly runtime: Runtime
  /** Maximum number of requests in flight to all endpoints together. */
  readonly requestsMax: number
  readonly maySend: () => boolean
  /** The other processes that share the store. */
  readonly peers?: Peers | undefined
  readonly outbox: Outbox
  /** Called when more requests may start; with a destination's id if one of its requests has ended. */
  readonly ended: (destinationId?: string) => void
  /** Called with the error of a request that found its endpoint still down. */
  readonly stillDown: (destinationId: string, error: string) => void
  readonly failed: (error: unknown) => void
}

type RoundStart = Start & { readonly kind: 'round' }

/**
 * Starts rounds wherever gates allow it, within a limit on requests to all endpoints together. Destinations take
 * turns, so that none uses up the limit.
 */
export class Rounds {
  readonly #options: RoundsOptions
  #targets: ReadonlyMap<string, RoundTarget> = new Map()
  /** Targets that may have ready deliveries, in the order in which they get their turns. */
  #ready = new Set<RoundTarget>()
  readonly #running = new Map<RoundStart, Promise<void>>()
  readonly #shortage: Shortage
  #requests = 0
  #pacedTimer: Timer | undefined
  /** Whether the limit was reached, so that destinations must take turns. */
  #isShort = false
  #stopped = false

  constructor(options: RoundsOptions) {
    this.#options = options
    const { runtime, ended } = options
    this.#shortage = new Shortage({ clock: runtime.clock, log: runtime.log, resumed: ended })
  }

  /** Sets the targets for new rounds. Rounds in progress keep their old settings. */
  configure(targets: readonly RoundTarget[]): void {
    this.#targets = new Map(targets.map((target) => [target.queue.destination.id, target]))
    this.#ready = new Set(targets.filter(({ queue }) => queue.hasReady))
  }

  /** Whether no request is in flight. */
  get isEmpty(): boolean {
    return this.#running.size === 0
  }

  get requests(): number {
    return this.#requests
  }

  /** Whether no request may start now, because the limit is reached or sending is not allowed. */
  get isBusy(): boolean {
    const { outbox, requestsMax, maySend } = this.#options
    if (this.#stopped || !maySend()) return true
    if (this.#requests >= this.#shortage.requestsMax) return true
    return this.#requests >= requestsMax || outbox.unwritten >= requestsMax
  }

  /** The queues that may have ready deliveries. */
  get ready(): readonly DestinationQueue[] {
    return Array.from(this.#ready, ({ queue }) => queue)
  }

  /** Gives a destination a turn after all others, if it has ready deliveries. */
  lineUp(destinationId: string): void {
    const target = this.#targets.get(destinationId)
    if (target?.queue.hasReady === true) this.#ready.add(target)
  }

  /**
   * Starts deliveries of one destination. If the limit was reached, starts none, so that other destinations go first.
   * If ready deliveries remain, queues the destination for a turn.
   */
  start(destinationId: string): void {
    const target = this.#targets.get(destinationId)
    if (target !== undefined) this.#startOf(target)
    this.lineUp(destinationId)
  }

  /**
   * Starts every delivery that may start, and sets a timer for the next one that a pace holds back.
   *
   * @param nowMs - the time before the call, so that a delivery that may start during the call is also timed
   */
  startAll(nowMs: number): void {
    this.#startReady()
    this.#pacedTimer?.cancel()
    const { clock } = this.#options.runtime
    let wakesAtMs = Infinity
    for (const { queue } of this.#ready) {
      wakesAtMs = Math.min(wakesAtMs, queue.startsAtMs(nowMs) ?? Infinity)
    }
    if (this.#stopped || wakesAtMs === Infinity) return
    this.#pacedTimer = clock.schedule(wakesAtMs - clock.nowMs(), () => this.#options.ended())
  }

  #startReady(): void {
    this.#isShort = false
    let idleTurns = 0
    // The iterator of a Set visits a target again after it was moved to the end.
    for (const target of this.#ready) {
      if (idleTurns === this.#ready.size || this.isBusy) return
      this.#ready.delete(target)
      if (this.#startOne(target)) idleTurns = 0
      else if (target.queue.hasReady) idleTurns++
      if (target.queue.hasReady) this.#ready.add(target)
    }
  }

  hear(news: BreakerNews): void {
    const queue = this.#targets.get(news.destinationId)?.queue
    const gate = queue?.gateOf(news.endpoint)
    if (queue === undefined || gate === undefined) return
    const change = this.#follow(news, { gate, queue })
    if (change !== undefined) this.#tell(change, { gate, queue, error: null })
  }

  /** Starts no more rounds. Those in progress continue. */
  stop(): void {
    this.#stopped = true
    this.#pacedTimer?.cancel()
    this.#shortage.stop()
  }

  async ended(): Promise<void> {
    while (this.#running.size > 0) await this.endedSoFar()
  }

  /** Resolves once the rounds that are in progress now have ended and are settled. */
  async endedSoFar(): Promise<void> {
    await Promise.all(this.#running.values())
  }

  #startOf(target: RoundTarget): void {
    this.#isShort ||= this.isBusy
    while (!this.#isShort && !this.isBusy && this.#startOne(target));
  }

  #startOne(target: RoundTarget): boolean {
    if (this.#shortage.isPaused(target.queue)) return false
    const start = target.queue.next(this.#options.runtime.clock.nowMs())
    if (start === undefined) return false
    if (start.kind === 'settled') this.#options.outbox.settle(start.settlement)
    else this.#running.set(start, this.#run(start, target))
    return true
  }

  async #run(start: RoundStart, { queue, sender, retryPolicy }: RoundTarget): Promise<void> {
    const { runtime, outbox, failed, ended } = this.#options
    const { delivery, gates } = start
    try {
      await attempt(delivery, {
        runtime,
        destination: queue.destination,
        gates,
        policy: retryPolicy,
        post: (gate) => this.#post(gate, delivery, { queue, sender }),
        ended: (record) => outbox.log(record),
        settled: (settlement) => {
          queue.end(delivery)
          outbox.settle(settlement)
        },
      })
    } catch (error) {
      failed(error)
    } finally {
      this.#running.delete(start)
      ended()
    }
  }

  async #post(
    gate: EndpointGate,
    delivery: LeasedDelivery,
    { queue, sender }: Pick<RoundTarget, 'queue' | 'sender'>,
  ): Promise<RequestOutcome> {
    const { runtime, requestsMax } = this.#options
    const { clock } = runtime
    const begun = gate.begin(clock.nowMs(), delivery.lane)
    this.#requests++
    const outcome = await sender.post(gate.endpoint, delivery)
    this.#isShort ||= this.isBusy
    this.#shortage.ended(outcome, queue, { requests: this.#requests, requestsMax })
    this.#requests--
    const change = gate.end(begun, outcome, clock.nowMs())
    // Ignore the breaker of a replaced endpoint: it says nothing about the current one.
    if (this.#targets.get(queue.destination.id)?.queue.has(gate) === true) {
      const { verdict, error } = judge(outcome)
      if (change !== undefined) this.#share(change, { gate, queue, error })
      if (verdict === 'retry' && gate.downSinceMs !== undefined) {
        this.#options.stillDown(queue.destination.id, error ?? '')
      }
    }
    // A delivery that was waiting for this gate may start now.
    this.start(queue.destination.id)
    this.#options.ended(queue.destination.id)
    return outcome
  }

  /** Tells other processes how a breaker changed. Applies the news here too, so that processes probe in turn. */
  #share(change: BreakerChange, { gate, queue, error }: ChangedBreaker): void {
    const { peers } = this.#options
    const { id: destinationId } = queue.destination
    const { rank, processes = 1 } = peers?.membershipOf(destinationId) ?? {}
    let followed: BreakerChange | undefined
    if (rank !== undefined && processes > 1) {
      const endpoint = hiddenEndpoint(gate.endpoint.url)
      const openMs = 'openMs' in change ? change.openMs : 0
      const news = { destinationId, endpoint, openMs, rank }
      peers?.tell(news)
      followed = this.#follow(news, { gate, queue })
    }
    this.#tell(followed ?? change, { gate, queue, error })
  }

  #follow(
    { openMs, rank, destinationId }: BreakerNews,
    { gate, queue }: Pick<ChangedBreaker, 'gate' | 'queue'>,
  ): BreakerChange | undefined {
    const membership = this.#options.peers?.membershipOf(destinationId)
    const { concurrency } = queue.destination
    const graceMs =
      membership === undefined ? 0 : probeGraceMs(concurrency, membership, { openMs, rank })
    return gate.follow({ openMs, rank, graceMs }, this.#options.runtime.clock.nowMs())
  }

  #tell(change: BreakerChange, { gate, queue, error }: ChangedBreaker): void {
    const { observer, log } = this.#options.runtime
    const destinationId = queue.destination.id
    const { url } = gate.endpoint
    const about = { destinationId, url }
    if ('probeAtMs' in change) {
      observer.endpoint({ ...about, state: 'open', probeAtMs: change.probeAtMs, error })
    } else observer.endpoint({ ...about, state: change.kind, probeAtMs: null, error: null })
    log.debug('circuit breaker', { destinationId, url: hiddenEndpoint(url), change: change.kind })
  }
}

interface ChangedBreaker {
  readonly gate: EndpointGate
  readonly queue: DestinationQueue
  readonly error: string | null
}
