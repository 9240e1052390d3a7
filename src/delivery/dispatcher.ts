import { EventEmitter, once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { messageOf } from '../model/index.ts'
import type { Runtime, Timer } from '../runtime/index.ts'
import { byDestination, Claims } from './claims.ts'
import { DestinationQueue } from './destination-queue.ts'
import type { DispatcherOptions, DispatchTarget } from './dispatcher-options.ts'
import type { DispatcherParts } from './dispatcher-parts.ts'
import { GivingUp } from './giving-up.ts'
import { HandOvers, leasedOf, type Addition, type HandedOver } from './hand-over.ts'
import { DueTimeQueries } from './due-time-queries.ts'
import { Outage } from './outage.ts'
import { Outbox } from './outbox.ts'
import { Prefetch } from './prefetch.ts'
import type { BreakerNews } from './processes-port.ts'
import { queuePolicies } from './queue-policies.ts'
import { defaultRetention } from './retention.ts'
import { defaultRetryPolicy } from './retry-policy.ts'
import { Rounds, type RoundTarget } from './rounds.ts'
import { settledDelivery } from './settled-delivery.ts'
import { isTemporary } from './store-error.ts'
import type {
  AddOutcome,
  AddRequest,
  AddResult,
  DueTime,
  NewEvent,
  Settlement,
} from './store-port.ts'
import { WaitingTimes } from './waiting-times.ts'

const requestsMaxDefault = 512

/** How often to look for leases that are too old to start a request. */
const staleEveryMs = 1_000

/** Ready deliveries per request slot: enough to refill each slot while a claim is in progress. */
const prefetchPerRequest = 3

/**
 * Stores new deliveries, keeps a few for each destination leased and ready, sends them as fast as endpoints allow,
 * and settles them in batches.
 *
 * Destinations don't wait for one another: each has its own room, and they take turns within the overall limits.
 * While the breakers of all endpoints of a destination are open, its deliveries are parked: they stay in the store
 * and use up no attempt. Once the endpoints have been down for a whole retry window, deliveries that were due all
 * that time expire, unless `keepsParked` is set.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions
  readonly #runtime: Runtime
  readonly #queues = new Map<string, DestinationQueue>()
  readonly #times = new WaitingTimes()
  readonly #queries: DueTimeQueries
  readonly #prefetch: Prefetch
  readonly #claims: Claims
  readonly #handOvers: HandOvers
  readonly #outbox: Outbox
  readonly #rounds: Rounds
  /** Undefined with `keepsParked`. */
  readonly #givingUp: GivingUp | undefined
  readonly #outage: Outage | undefined
  /** Emits `idle` once nothing is left to do, or `error` if delivery fails. */
  readonly #ends = new EventEmitter()
  #timer: Timer | undefined
  #run: Promise<void> | undefined
  #asking: Promise<void> | undefined
  #staleLookMs = 0
  #woken = false
  #stopped = false
  #failure: { readonly error: unknown } | undefined

  constructor(options: DispatcherOptions) {
    const { store, runtime, targets, requestsMax = requestsMaxDefault } = options
    this.#options = options
    this.#runtime = runtime
    this.#prefetch = new Prefetch(prefetchPerRequest * requestsMax)
    const { clock } = runtime
    const failed = (error: unknown): void => this.fail(error)
    const outageOf = (what: 'read' | 'written'): Outage | undefined =>
      options.outlastsOutages === true ? new Outage({ what, clock, log: runtime.log }) : undefined
    this.#outage = outageOf('read')
    this.#outbox = new Outbox({
      store,
      clock,
      outage: outageOf('written'),
      settled: (settlement) => this.#settled(settlement),
      drained: () => this.#goOn(),
      failed,
    })
    const parts: DispatcherParts = {
      store,
      clock,
      queues: this.#queues,
      times: this.#times,
      prefetch: this.#prefetch,
      outbox: this.#outbox,
    }
    this.#queries = new DueTimeQueries(parts)
    if (options.keepsParked !== true) this.#givingUp = new GivingUp(parts)
    this.#handOvers = new HandOvers({ ...parts, isStopped: () => this.#stopped })
    this.#claims = new Claims({
      ...parts,
      isBusy: () => this.#rounds.isBusy,
      taken: (destinationId) => this.#rounds.lineUp(destinationId),
    })
    this.#rounds = new Rounds({
      runtime,
      requestsMax,
      maySend: options.maySend ?? (() => true),
      peers: options.peers,
      outbox: this.#outbox,
      ended: (destinationId) => {
        // The end of a request may let deliveries to its destination start earlier.
        if (destinationId !== undefined) this.#times.recall(destinationId)
        this.#goOn()
      },
      stillDown: (destinationId, error) => this.#givingUp?.note(destinationId, error),
      failed,
    })
    this.#setTargets(targets)
  }

  /**
   * Changes the destinations or their settings. Ready deliveries return to the store if their destination was removed
   * or its concurrency is 0; all others stay ready. An endpoint keeps its breaker if only its concurrency or rate
   * changes. Resolves once the requests in flight have ended. The caller can then close their senders.
   */
  async reconfigure(targets: readonly DispatchTarget[]): Promise<void> {
    const ended = this.#rounds.endedSoFar()
    this.#setTargets(targets)
    this.#goOn()
    await ended
  }

  /**
   * Stores events with their deliveries, and returns the events' outcomes in order. Deliveries for which there is room
   * start at once, without a claim.
   *
   * @param traceparent - the trace context to store with the deliveries
   * @throws the store's error, or the earlier one that made the store unusable
   */
  async add(events: readonly NewEvent[], traceparent?: string): Promise<readonly AddOutcome[]> {
    if (this.#failure !== undefined) throw this.#failure.error
    const addition = this.#handOvers.plan(events)
    const { handOver, start } = addition
    const { store, dedupeWindowMs } = this.#options
    const nowMs = start.atMs
    const seenSinceMs = nowMs - (dedupeWindowMs?.() ?? defaultRetention.messageIdsMs)
    const batch = { nowMs, seenSinceMs, events, handOver, traceparent }
    const adding = store.add(batch)
    for (const { queue, line, deliveriesMax } of handOver) queue.reserve(line, deliveriesMax)
    // Don't await here: the suspended function would keep the events in memory. Only leased deliveries need them.
    return this.#added(adding, addition, handOver.length > 0 ? batch : null)
  }

  async #added(adding: Promise<AddResult>, addition: Addition, batch: AddRequest | null) {
    let handedOver: HandedOver = new Map()
    try {
      const added = await adding
      const leased = batch === null ? [] : leasedOf(batch, added.leased)
      handedOver = byDestination(leased)
      this.#prefetch.begin(leased, addition.start)
      this.#handOvers.noteKept(addition, added, handedOver)
      for (const refused of added.refused) this.#runtime.observer.gaveUp?.(refused)
      return added.outcomes
    } finally {
      this.#takeOver(handedOver, addition)
      // `stop()` may have ended already, so wait here until these deliveries are back in the store.
      if (this.#stopped) await this.#outbox.written()
    }
  }

  /** Records due times from another process. Without `dueTimes`, asks the store about all destinations. */
  wake(dueTimes?: readonly DueTime[]): void {
    if (dueTimes === undefined) this.#queries.queryAll()
    else for (const due of dueTimes) this.#times.add(due.destinationId, due.lane, due.dueAtMs)
    this.#goOn()
  }

  hear(news: BreakerNews): void {
    this.#rounds.hear(news)
    this.#times.recall(news.destinationId)
    this.#goOn()
  }

  get requests(): number {
    return this.#rounds.requests
  }

  /**
   * Resolves once the dispatcher has stopped, or no delivery to its destinations is pending or in flight. Waits even
   * for deliveries that may not be sent now. With `keepsParked`, also resolves if all waiting deliveries are
   * undeliverable, as {@link DestinationQueue.isUndeliverable} defines it.
   *
   * @throws the error that made the store unusable
   */
  async idle(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error
    if (this.#stopped) return
    const ended = once(this.#ends, 'idle')
    this.#times.askAgain()
    this.#goOn()
    await ended
  }

  /** Starts no more requests. Resolves once those in flight are settled and ready deliveries returned. Idempotent. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#rounds.stop()
    this.#timer?.cancel()
    this.#outage?.cut()
    await this.#run
    // Wait for the claim in progress, which may still lease deliveries.
    await this.#asking
    for (const queue of this.#queues.values()) this.#outbox.giveBack(queue.giveBack())
    await this.#rounds.ended()
    this.#outbox.waitNoMore()
    await this.#outbox.written()
    this.#ends.emit('idle')
  }

  /** Ends all work, because the store is unusable. Makes `idle()` reject. */
  fail(error: unknown): void {
    if (this.#failure === undefined) {
      this.#runtime.log.warn('this process has stopped sending webhooks', {
        error: messageOf(error),
      })
      this.#options.failed?.(error)
    }
    this.#failure ??= { error }
    this.#stopped = true
    this.#rounds.stop()
    this.#timer?.cancel()
    // An EventEmitter throws an `error` event that has no listener.
    if (this.#isAwaited) this.#ends.emit('error', error)
  }

  #setTargets(targets: readonly DispatchTarget[]): void {
    const ids = new Set(targets.map(({ destination }) => destination.id))
    for (const [id, queue] of this.#queues) {
      if (ids.has(id)) continue
      this.#queues.delete(id)
      this.#outbox.giveBack(queue.giveBack())
    }
    this.#times.watch([...ids])
    this.#rounds.configure(targets.map((target) => this.#roundTarget(target)))
  }

  #roundTarget(target: DispatchTarget): RoundTarget {
    const { destination, sender, retryPolicy = defaultRetryPolicy, rateShare = 1 } = target
    const { id, concurrency: all } = destination
    const { concurrency = all } = target
    const share = { concurrency, rateShare, readyMin: this.#options.readyMin ?? 0 }
    const policies = queuePolicies(retryPolicy, share, this.#runtime.random)
    const queue =
      this.#queues.get(id) ?? new DestinationQueue(destination, policies, this.#prefetch)
    for (const { url } of queue.configure(destination, policies)) {
      this.#runtime.observer.endpoint({
        destinationId: id,
        url,
        state: 'closed',
        probeAtMs: null,
        error: null,
      })
    }
    this.#queues.set(id, queue)
    return { queue, sender, retryPolicy }
  }

  #takeOver(handedOver: HandedOver, { positions, handOver }: Addition): void {
    const nowMs = this.#runtime.clock.nowMs()
    for (const { destinationId, deliveriesMax, queue, line } of handOver) {
      queue.take(line, handedOver.get(destinationId) ?? [], deliveriesMax)
      // If the dispatcher has stopped or the destination was removed, nothing else empties the queue.
      const isGone = this.#stopped || this.#queues.get(destinationId) !== queue
      if (isGone) this.#outbox.giveBack(queue.giveBack())
    }
    for (const [destinationId, { length: count }] of positions) {
      const { length: taken } = handedOver.get(destinationId) ?? []
      if (taken < count) this.#times.add(destinationId, 'first', nowMs)
    }
    for (const destinationId of handedOver.keys()) this.#rounds.start(destinationId)
    this.#goOn()
  }

  #goOn(): void {
    this.#woken = true
    if (!this.#stopped) this.#run ??= this.#workWhileWoken()
  }

  /** Starts ready deliveries, even while a query to the store is pending. */
  async #workWhileWoken(): Promise<void> {
    const release = this.#runtime.clock.hold()
    while (this.#woken && !this.#stopped) {
      // Let all requests that end in this turn of the event loop share one pass.
      await nextTurn()
      this.#woken = false
      // Read the clock only once: with two readings, both steps could miss a slot that becomes free in between.
      const nowMs = this.#runtime.clock.nowMs()
      this.#rounds.startAll(nowMs)
      this.#giveBackIdle(nowMs)
      this.#asking ??= this.#askWhileNeeded()
    }
    release()
    this.#run = undefined
    this.#plan()
  }

  async #askWhileNeeded(): Promise<void> {
    const release = this.#runtime.clock.hold()
    while (!this.#stopped && (await this.#askOrWait())) {
      this.#goOn()
      // Yield to the event loop, even if the store answers at once.
      await nextTurn()
    }
    release()
    this.#asking = undefined
    this.#plan()
  }

  async #askOrWait(): Promise<boolean> {
    try {
      return await this.#ask()
    } catch (error) {
      // After a stop, nothing needs the result of this query, so a temporary error doesn't matter.
      if (this.#stopped && isTemporary(error)) return false
      if (this.#outage === undefined || !isTemporary(error)) {
        this.fail(error)
        return false
      }
      await this.#outage.wait(error)
      this.#times.askAgain()
      return true
    }
  }

  /** Expires undeliverable deliveries, claims due ones, asks for due times. False if there was nothing to do. */
  async #ask(): Promise<boolean> {
    const gaveUp = await this.#givingUp?.giveUp()
    const hasClaimed = await this.#claims.claim()
    const hasQueried = await this.#queries.query()
    if (hasClaimed || !hasQueried) this.#outage?.end()
    return gaveUp === true || hasClaimed || hasQueried
  }

  #giveBackIdle(nowMs: number): void {
    const { ready } = this.#rounds
    for (const queue of ready) this.#outbox.giveBack(queue.giveBackIdle(nowMs))
    // Check only once a second, because leases last much longer.
    if (nowMs >= this.#staleLookMs && nowMs < this.#staleLookMs + staleEveryMs) return
    this.#staleLookMs = nowMs
    for (const queue of ready) this.#outbox.giveBack(queue.giveBackStale())
  }

  /** Sets the timer for the next delivery that can start. If no delivery is left, resolves the promises of `idle()`. */
  #plan(): void {
    this.#timer?.cancel()
    // Work in progress calls this again when it ends. The end of a request resumes postponed claims.
    if (this.#stopped || this.#woken || this.#asking !== undefined) return
    if (this.#run !== undefined || this.#claims.isPostponed) return
    const { clock } = this.#runtime
    const wakesAtMs = Math.min(this.#claims.startsAtMs, this.#queries.nextAtMs ?? Infinity)
    if (wakesAtMs < Infinity) {
      this.#timer = clock.schedule(wakesAtMs - clock.nowMs(), () => this.#goOn())
    }
    if (this.#isAwaited && this.#isIdle()) this.#ends.emit('idle')
  }

  get #isAwaited(): boolean {
    return this.#ends.listenerCount('idle') > 0
  }

  #isIdle(): boolean {
    const canEnd = this.#givingUp ? this.#times.isNothingWaitedFor : this.#claims.areUndeliverable
    const isEmpty = this.#rounds.isEmpty && this.#outbox.isEmpty
    return canEnd && isEmpty && [...this.#queues.values()].every((queue) => queue.isEmpty)
  }

  #settled(settlement: Settlement): void {
    const { kind, delivery } = settlement
    const { destinationId, lane } = delivery
    if (kind === 'retry') this.#times.add(destinationId, 'retry', settlement.dueAtMs)
    else if (kind === 'returned') this.#times.add(destinationId, lane, settlement.dueAtMs)
    else this.#runtime.observer.settled(settledDelivery(settlement))
  }
}
