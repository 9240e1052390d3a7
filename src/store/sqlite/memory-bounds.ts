import type { NewEvent } from '../../delivery/index.ts'
import type { Counts } from './counts.ts'
import type { Database, Statement } from './database.ts'
import type { Purging } from './purging.ts'
import { pragma } from './schema.ts'
import type { TransactionHooks } from './write-queue.ts'

/** The bounds of a store in memory. */
export interface MemoryBoundsOptions {
  /** With this many pending deliveries, `add` waits; 10,000 by default. */
  readonly pendingMax?: number
  /** With this many bytes in all rows, `add` waits while a delivery is pending; 128 MB by default. */
  readonly bytesMax?: number
  /** The maximum number of messageIds for deduplication; 100,000 by default. */
  readonly messageIdsMax?: number
  /** The maximum number of ended deliveries in the log; 1,000 by default. With 0, requests are not logged. */
  readonly endedMax?: number
}

const defaults = {
  pendingMax: 10_000,
  bytesMax: 128 * 1024 * 1024,
  messageIdsMax: 100_000,
  endedMax: 1_000,
}

/** Excess messageIds are deleted this many at a time, because counting takes a millisecond. */
const messageIdsSlack = 1_000

interface Waiting {
  readonly deliveries: number
  readonly enter: () => void
}

/**
 * Keeps the memory of a store flat for any number of events. Each transaction that ends too many deliveries
 * for the log deletes the oldest ended ones. `add` waits for room, first come, first served. Its hooks come
 * before those of the counts, whose changes they read and add to.
 */
export class MemoryBounds implements TransactionHooks {
  readonly #bounds: Required<MemoryBoundsOptions>
  readonly #counts: Counts
  readonly #purging: Purging
  readonly #forgetMessageIds: Statement
  readonly #pageBytes: number
  readonly #pages: Statement
  readonly #freePages: Statement
  readonly #waiting = new Set<Waiting>()
  #pending = 0
  /** The number of deliveries in adds that are in progress. */
  #adding = 0
  #ended = 0
  /** An upper bound, because it still counts purged messageIds. */
  #messageIds = 0
  #isClosed = false

  constructor(
    database: Database,
    parts: { readonly counts: Counts; readonly purging: Purging },
    options: MemoryBoundsOptions,
  ) {
    this.#bounds = { ...defaults, ...options }
    this.#counts = parts.counts
    this.#purging = parts.purging
    this.#forgetMessageIds = database.prepare(`
      DELETE FROM seen WHERE (source_id, message_id) IN (
        SELECT source_id, message_id FROM seen ORDER BY seen_at
        LIMIT max(0, (SELECT count(*) FROM seen) - ?))`)
    this.#pageBytes = pragma(database, 'page_size')
    this.#pages = database.prepare('PRAGMA page_count')
    this.#freePages = database.prepare('PRAGMA freelist_count')
  }

  /** Whether requests are logged, which they are if the log keeps ended deliveries. */
  get keepsLog(): boolean {
    return this.#bounds.endedMax > 0
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
    const excess = this.#ended + this.#endedNow() - this.#bounds.endedMax
    if (excess > 0) this.#purging.forgetEnded(excess)
    this.#messageIds += this.#counts.changeOf('routed', 'filtered')
    if (this.#messageIds > this.#bounds.messageIdsMax + messageIdsSlack) {
      this.#forgetMessageIds.run(this.#bounds.messageIdsMax)
      this.#messageIds = this.#bounds.messageIdsMax
    }
  }

  afterCommit(): void {
    this.#ended += this.#endedNow()
    this.#pending += this.#counts.changeOf('pending')
    this.#letIn()
  }

  /** Ends all waits. */
  close(): void {
    this.#isClosed = true
    this.#letIn()
  }

  #endedNow(): number {
    const ended = this.#counts.changeOf('delivered', 'failed', 'expired')
    return ended - this.#counts.changeOf('purged_delivered', 'purged_failed', 'purged_expired')
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
    const { page_count: pages } = this.#pages.get() as { readonly page_count: number }
    const { freelist_count: free } = this.#freePages.get() as { readonly freelist_count: number }
    return (pages - free) * this.#pageBytes
  }
}
