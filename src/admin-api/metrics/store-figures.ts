import type { Backlog, DeliveryStore } from '../../delivery/index.ts'
import { messageOf } from '../../model/index.ts'
import { stopwatch, type Runtime, type Timer } from '../../runtime/index.ts'
import type { TableRows } from '../../store/index.ts'

/** The backlog of a destination. */
export interface QueueState extends Backlog {
  /** The earliest due time of deliveries not in flight, in milliseconds since 1970; null if there are none. */
  readonly oldestDueAtMs: number | null
}

/** Reads the backlogs of destinations from a store. */
export async function queueStates(
  store: Pick<DeliveryStore, 'destinationCounts' | 'nextDue'>,
  destinationIds: readonly string[],
  nowMs: number,
): Promise<readonly QueueState[]> {
  const [counts, dueTimes] = await Promise.all([
    store.destinationCounts(),
    store.nextDue({ nowMs, destinationIds }),
  ])
  const pending = new Map(counts.map((count) => [count.destinationId, count.pending]))
  const oldest = new Map<string, number>()
  for (const { destinationId, dueAtMs } of dueTimes) {
    oldest.set(destinationId, Math.min(oldest.get(destinationId) ?? Infinity, dueAtMs))
  }
  return destinationIds.map((destinationId) => ({
    destinationId,
    pending: pending.get(destinationId) ?? 0,
    oldestDueAtMs: oldest.get(destinationId) ?? null,
  }))
}

/** What metrics report about a store: its backlogs and row counts. */
export interface StoreFigures {
  readonly queues: readonly QueueState[]
  /** Row counts of the tables in PostgreSQL; empty for other stores. */
  readonly tables: readonly TableRows[]
  readonly measuredAtMs: number
}

interface StoreFiguresOptions {
  readonly queues: (nowMs: number) => Promise<readonly QueueState[]>
  readonly tables?: (() => Promise<readonly TableRows[]>) | undefined
  /** Whether this process reports the figures. Only one of the processes that share a store does. */
  readonly isFirst: () => boolean
  readonly runtime: Pick<Runtime, 'clock' | 'log'>
}

const [pauseMsMin, pauseMsMax] = [5_000, 60_000]
const pauseFactor = 20

/** Measures a store in the background, so that reading metrics never waits for it. */
export class StoreFiguresWatch {
  readonly #options: StoreFiguresOptions
  #latest: StoreFigures | undefined
  #next: Timer | undefined
  #isStopped = false

  constructor(options: StoreFiguresOptions) {
    this.#options = options
  }

  /** The latest figures; undefined before the first measurement, or if another process reports them. */
  get latest(): StoreFigures | undefined {
    return this.#options.isFirst() ? this.#latest : undefined
  }

  async start(): Promise<void> {
    const elapsedMs = stopwatch()
    await this.#measure()
    if (this.#isStopped) return
    const pauseMs = Math.min(Math.max(elapsedMs() * pauseFactor, pauseMsMin), pauseMsMax)
    this.#next = this.#options.runtime.clock.schedule(pauseMs, () => void this.start())
  }

  stop(): void {
    this.#isStopped = true
    this.#next?.cancel()
  }

  async #measure(): Promise<void> {
    const { queues, tables, isFirst, runtime } = this.#options
    if (!isFirst()) {
      this.#latest = undefined
      return
    }
    const measuredAtMs = runtime.clock.nowMs()
    try {
      const measured = await Promise.all([queues(measuredAtMs), tables?.()])
      this.#latest = { queues: measured[0], tables: measured[1] ?? [], measuredAtMs }
    } catch (error) {
      if (this.#isStopped) return
      runtime.log.warn('the store could not be measured', { error: messageOf(error) })
    }
  }
}
