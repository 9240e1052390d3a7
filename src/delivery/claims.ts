import { lanes } from '../model/index.ts'
import { elapsedTime } from '../runtime/index.ts'
import type { DestinationQueue } from './destination-queue.ts'
import type { DispatcherParts } from './dispatcher-parts.ts'
import type { LeasedDelivery, Share } from './store-port.ts'

interface ClaimsOptions extends DispatcherParts {
  /** Whether every request slot is taken, so that no delivery could start now. */
  readonly isBusy: () => boolean
  /** Called with each destination whose queue may have received deliveries. */
  readonly taken: (destinationId: string) => void
}

/** A share to claim, and the queue that will receive the deliveries. */
interface Claim {
  readonly queue: DestinationQueue
  readonly share: Share
}

/** When the first waiting delivery in a lane can start. */
export interface StartTime {
  /** In milliseconds since 1970; in the past if the delivery only waits for room. */
  readonly atMs: number
  /** Whether the delivery is not worth waiting for, as in {@link DestinationQueue.isUndeliverable}. */
  readonly isUndeliverable: boolean
}

/** Later than any due time, to claim a whole lane whether due or not. */
const anyTimeMs = Number.MAX_SAFE_INTEGER

/** Claims deliveries from the store: a few for each destination with room in its queue. */
export class Claims {
  readonly #options: ClaimsOptions
  #lookedAtMs = 0

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
      // The destination was removed meanwhile.
      else outbox.giveBack(queue.giveBack())
      if (ofLane.length < deliveriesMax) this.#learn(share, claimed !== undefined)
    }
  }

  /** Marks the lane as empty if the claim was for all of it; otherwise the store must be asked again. */
  #learn({ destinationId, lane, dueByMs }: Share, isAnswered: boolean): void {
    const { times } = this.#options
    if (isAnswered && dueByMs === anyTimeMs) times.empty(destinationId, lane)
    else times.forget(destinationId, lane)
  }

  /**
   * When {@link Claims.claim} last looked for due deliveries, in milliseconds since 1970; now if the clock was set
   * back. Set an alarm for deliveries that are due later.
   */
  get lookedAtMs(): number {
    return Math.min(this.#lookedAtMs, this.#options.clock.nowMs())
  }

  /** Returns when the first waiting delivery in each lane can start, for lanes that are known to have one. */
  startTimes(): readonly StartTime[] {
    const { times } = this.#options
    const nowMs = this.lookedAtMs
    const startTimes: StartTime[] = []
    for (const queue of this.#waitedFor()) {
      const { id: destinationId } = queue.destination
      for (const lane of lanes) {
        const dueAtMs = times.dueAtMs(destinationId, lane)
        if (dueAtMs === undefined) continue
        const atMs = Math.max(dueAtMs, queue.parkedUntilMs(nowMs, lane) ?? 0)
        startTimes.push({ atMs, isUndeliverable: queue.isUndeliverable(atMs, nowMs) })
      }
    }
    return startTimes
  }

  /**
   * Plans claims: from each lane with due deliveries, as many as there is room for. Destinations that were served
   * longest ago come first.
   */
  #due(): readonly Claim[] {
    if (this.isPostponed) return []
    const { clock, times, queues, prefetch } = this.#options
    const nowMs = clock.nowMs()
    this.#lookedAtMs = nowMs
    const part = prefetch.partOf(times.waitedFor.size)
    let { claimRoom: room } = prefetch
    const claims: Claim[] = []
    for (const destinationId of times.waitedFor) {
      const queue = queues.get(destinationId)
      if (queue === undefined) continue
      for (const lane of lanes) {
        const dueByMs = lane === 'retry' ? nowMs : anyTimeMs
        const dueAtMs = times.dueAtMs(destinationId, lane)
        const deliveriesMax = Math.min(queue.room(lane, nowMs, part), room)
        if (dueAtMs === undefined || dueAtMs > dueByMs || deliveriesMax === 0) continue
        claims.push({ queue, share: { destinationId, lane, dueByMs, deliveriesMax } })
        room -= deliveriesMax
      }
      if (room === 0) break
    }
    return claims
  }

  /** Returns the queues of destinations with waiting deliveries, without visiting the other destinations. */
  #waitedFor(): readonly DestinationQueue[] {
    const { queues, times } = this.#options
    return [...times.waitedFor].flatMap((destinationId) => queues.get(destinationId) ?? [])
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
