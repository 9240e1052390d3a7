import { lanes, type Lane } from '../model/index.ts'
import { elapsedTime } from '../runtime/index.ts'
import type { DestinationQueue } from './destination-queue.ts'
import type { DispatcherParts } from './dispatcher-parts.ts'
import type { LeasedDelivery, Share } from './store-port.ts'

interface ClaimsOptions extends DispatcherParts {
  /** Whether no request may start now. */
  readonly isBusy: () => boolean
  /** Called with each destination whose queue may have received deliveries. */
  readonly taken: (destinationId: string) => void
}

interface Claim {
  readonly queue: DestinationQueue
  readonly share: Share
}

/** Later than any due time, to claim a whole lane whether due or not. */
const anyTimeMs = Number.MAX_SAFE_INTEGER

/** Claims deliveries from the store: a few for each destination with room in its queue. */
export class Claims {
  readonly #options: ClaimsOptions
  #lookedAtMs = 0
  /** No delivery of a deferred destination can start before this time, in milliseconds since 1970. */
  #deferredUntilMs = Infinity

  constructor(options: ClaimsOptions) {
    this.#options = options
  }

  /** Claims once. False if there was nothing to claim. */
  async claim(): Promise<boolean> {
    const { store, clock, times, prefetch } = this.#options
    const claims = this.#due()
    if (claims.length === 0) return false
    for (const { queue, share } of claims) {
      queue.reserve(share.lane, share.deliveriesMax)
      times.claim(share.destinationId, share.lane)
      times.serve(share.destinationId)
    }
    const shares = claims.map(({ share }) => share)
    const nowMs = clock.nowMs()
    const start = { atMs: nowMs, elapsedMs: elapsedTime(clock) }
    let claimed: ReadonlyMap<string, readonly LeasedDelivery[]> | undefined
    try {
      const deliveries = await store.claim({ nowMs, shares })
      prefetch.begin(deliveries, start)
      claimed = byDestination(deliveries)
    } finally {
      this.#take(claims, claimed)
    }
    return true
  }

  /** Whether to claim nothing until some of the leased deliveries have started. */
  get isPostponed(): boolean {
    const { prefetch, isBusy } = this.#options
    return prefetch.claimRoom === 0 || (prefetch.isShort && isBusy())
  }

  /** Passes claimed deliveries to their queues. `claimed` is undefined if the claim failed. */
  #take(
    claims: readonly Claim[],
    claimed: ReadonlyMap<string, readonly LeasedDelivery[]> | undefined,
  ): void {
    const { queues, taken, outbox } = this.#options
    for (const { queue, share } of claims) {
      const { destinationId, lane, deliveriesMax } = share
      const ofDestination = claimed?.get(destinationId) ?? []
      const ofLane = ofDestination.filter((delivery) => delivery.lane === lane)
      queue.take(lane, ofLane, deliveriesMax)
      if (lane === 'first') queue.backlog.claimed(ofLane.length)
      if (queues.get(destinationId) === queue) taken(destinationId)
      // The destination was removed during the claim.
      else outbox.giveBack(queue.giveBack())
      if (ofLane.length < deliveriesMax) this.#learn(share, claimed !== undefined)
    }
  }

  /** Handles a claim that returned fewer deliveries than asked for. If it covered all due times, the lane is empty. */
  #learn({ destinationId, lane, dueByMs }: Share, isAnswered: boolean): void {
    const { times } = this.#options
    if (isAnswered && dueByMs === anyTimeMs) times.empty(destinationId, lane)
    else times.forget(destinationId, lane)
  }

  /**
   * When the next waiting delivery becomes due or is no longer parked, in milliseconds since 1970; Infinity if none is
   * known. Ignores deliveries that were due at the last {@link claim}: they only wait until a request ends.
   */
  get startsAtMs(): number {
    const lookedAtMs = this.#lastLookMs
    let startsAtMs = this.#deferredUntilMs
    for (const queue of this.#queues(this.#options.times.waitedFor)) {
      for (const lane of lanes) {
        const atMs = this.#startMs(queue, lane, lookedAtMs) ?? 0
        if (atMs > lookedAtMs) startsAtMs = Math.min(startsAtMs, atMs)
      }
    }
    return startsAtMs
  }

  /** Whether every waiting delivery is undeliverable, as {@link DestinationQueue.isUndeliverable} defines it. */
  get areUndeliverable(): boolean {
    const { waitedFor, deferred } = this.#options.times
    const nowMs = this.#lastLookMs
    return this.#queues([...waitedFor, ...deferred]).every((queue) =>
      lanes.every((lane) => {
        const atMs = this.#startMs(queue, lane, nowMs)
        return atMs === undefined || queue.isUndeliverable(atMs, nowMs)
      }),
    )
  }

  /** When {@link claim} last looked for due deliveries; the current time if the clock was set back since then. */
  get #lastLookMs(): number {
    return Math.min(this.#lookedAtMs, this.#options.clock.nowMs())
  }

  /** When the first waiting delivery in a lane can start, in milliseconds since 1970; undefined if none is known. */
  #startMs(queue: DestinationQueue, lane: Lane, nowMs: number): number | undefined {
    const dueAtMs = this.#options.times.dueAtMs(queue.destination.id, lane)
    if (dueAtMs === undefined) return undefined
    // Ignore due times outside the lane `retry`: they are in the future only if the clock was set back.
    return Math.max(lane === 'retry' ? dueAtMs : 0, queue.parkedUntilMs(nowMs, lane) ?? 0)
  }

  /**
   * Plans claims: from each lane with due deliveries, as many as there is room for. Destinations that were served
   * longest ago come first. Defers destinations without a delivery that can start now, so that later calls skip them.
   */
  #due(): readonly Claim[] {
    if (this.isPostponed) return []
    const { clock, times, queues, prefetch } = this.#options
    const nowMs = clock.nowMs()
    this.#recallDue(nowMs)
    this.#lookedAtMs = nowMs
    const part = prefetch.partOf(times.waitedFor.size)
    let { claimRoom: room } = prefetch
    const claims: Claim[] = []
    for (const destinationId of times.waitedFor) {
      const queue = queues.get(destinationId)
      if (queue === undefined) continue
      let startMs = Infinity
      for (const lane of lanes) {
        const atMs = this.#startMs(queue, lane, nowMs) ?? Infinity
        startMs = Math.min(startMs, atMs)
        const deliveriesMax = atMs > nowMs ? 0 : Math.min(queue.room(lane, nowMs, part), room)
        if (deliveriesMax === 0) continue
        const dueByMs = lane === 'retry' ? nowMs : anyTimeMs
        claims.push({ queue, share: { destinationId, lane, dueByMs, deliveriesMax } })
        room -= deliveriesMax
      }
      if (startMs > nowMs) {
        this.#deferredUntilMs = Math.min(this.#deferredUntilMs, startMs)
        times.defer(destinationId)
      }
      if (room === 0) break
    }
    return claims
  }

  /** Ends all deferrals once the first may be over, or if the clock was set back. */
  #recallDue(nowMs: number): void {
    if (nowMs < this.#deferredUntilMs && nowMs >= this.#lookedAtMs) return
    this.#deferredUntilMs = Infinity
    this.#options.times.recallAll()
  }

  #queues(destinationIds: Iterable<string>): readonly DestinationQueue[] {
    return [...destinationIds].flatMap((id) => this.#options.queues.get(id) ?? [])
  }
}

/** Groups items by destination, in their original order. */
export function byDestination<Item extends { readonly destinationId: string }>(
  items: readonly Item[],
): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const group = groups.get(item.destinationId)
    if (group === undefined) groups.set(item.destinationId, [item])
    else group.push(item)
  }
  return groups
}
