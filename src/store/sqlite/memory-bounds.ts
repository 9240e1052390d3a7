import type { NewEvent } from '../../delivery/index.ts'
import { sql } from '../sql.ts'
import { forgetEnded } from './purging.ts'
import { pragma } from './schema.ts'
import type { LogParts } from './store-parts.ts'
import type { TransactionHooks } from './write-queue.ts'

/** The limits of a store in memory. */
export interface MemoryBoundsOptions {
  /** Number of pending deliveries at which `add` waits; 10,000 by default. */
  readonly pendingMax?: number
  /** `add` waits once all rows together have this many bytes and a delivery is pending; 128 MB by default. */
  readonly bytesMax?: number
  /** Maximum number of messageIds kept for deduplication; 100,000 by default. */
  readonly messageIdsMax?: number
  /** Maximum number of ended deliveries in the log; 1,000 by default. If 0, requests are not logged either. */
  readonly endedMax?: number
}

const defaults = {
  pendingMax: 10_000,
  bytesMax: 128 * 1024 * 1024,
  messageIdsMax: 100_000,
  endedMax: 1_000,
}

/** Delete messageIds once this many are in excess. Each deletion counts all rows, which takes a millisecond. */
const messageIdsSlack = 1_000

interface Waiting {
  readonly deliveries: number
  readonly enter: () => void
}

/**
 * Bounds the memory of a store, however many events pass through it. `add` waits for room, first come, first
 * served. Each transaction deletes ended deliveries beyond `endedMax`. These hooks must run before those of
 * `Counts`, because they read the uncommitted counts and change them.
 */
export class MemoryBounds implements TransactionHooks {
  readonly #bounds: Required<MemoryBoundsOptions>
  readonly #parts: LogParts
  readonly #pageBytes: number
  readonly #waiting = new Set<Waiting>()
  #pending = 0
  /** Deliveries in adds that are in progress. */
  #adding = 0
  #ended = 0
  /** An upper bound, because it still counts purged messageIds. */
  #messageIds = 0
  #isClosed = false

  constructor(parts: LogParts, options: MemoryBoundsOptions) {
    this.#bounds = { ...defaults, ...options }
    this.#parts = parts
    this.#pageBytes = pragma(parts.statements, 'page_size')
  }

  /** Runs an add once there is room, or once the store is closed. */
  async enter<Result>(events: readonly NewEvent[], add: () => Promise<Result>): Promise<Result> {
    const deliveries = events.reduce((sum, event) => sum + event.deliveries.length, 0)
    const entered = new Promise<void>((enter) => this.#waiting.add({ deliveries, enter }))
    this.#letIn()
    await entered
    try {
      return await add()
    } finally {
      this.#adding -= deliveries
      this.#letIn()
    }
  }

  beforeCommit(): void {
    const { endedMax, messageIdsMax } = this.#bounds
    const { statements, counts } = this.#parts
    const excess = this.#ended + this.#endedNow() - endedMax
    if (excess > 0) forgetEnded(excess, this.#parts)
    this.#messageIds += counts.changeOf('routed', 'filtered')
    if (this.#messageIds <= messageIdsMax + messageIdsSlack) return
    statements.run(sql`
      DELETE FROM seen WHERE (source_id, message_id) IN (
        SELECT source_id, message_id FROM seen ORDER BY seen_at
        LIMIT max(0, (SELECT count(*) FROM seen) - ${messageIdsMax}))`)
    this.#messageIds = messageIdsMax
  }

  afterCommit(): void {
    this.#ended += this.#endedNow()
    this.#pending += this.#parts.counts.changeOf('pending')
    this.#letIn()
  }

  /** Lets all waiting adds proceed. They then fail, because the store is closed. */
  close(): void {
    this.#isClosed = true
    this.#letIn()
  }

  #endedNow(): number {
    const { counts } = this.#parts
    const ended = counts.changeOf('delivered', 'failed', 'expired')
    return ended - counts.changeOf('purged_delivered', 'purged_failed', 'purged_expired')
  }

  #letIn(): void {
    for (const next of this.#waiting) {
      if (!this.#isClosed && this.#isFull()) return
      this.#waiting.delete(next)
      this.#adding += next.deliveries
      next.enter()
    }
  }

  #isFull(): boolean {
    const { pendingMax, bytesMax } = this.#bounds
    const pending = this.#pending + this.#adding
    return pending >= pendingMax || (pending > 0 && this.#bytes() >= bytesMax)
  }

  #bytes(): number {
    const { statements } = this.#parts
    const pages = pragma(statements, 'page_count') - pragma(statements, 'freelist_count')
    return pages * this.#pageBytes
  }
}
