import { messageOf } from '../../model/index.ts'
import { stopwatch, type Runtime, type Timer } from '../../runtime/index.ts'
import type { TableRows } from '../../store/index.ts'
import type { QueueState } from './queue-states.ts'

/** What the metrics tell of a store. */
export interface StoreFigures {
  /** The backlog of each destination. */
  readonly queues: readonly QueueState[]
  /** The rows of its tables; none where the store cannot tell. */
  readonly tables: readonly TableRows[]
  /** When the store was asked, in milliseconds since 1970. */
  readonly measuredAtMs: number
}

/** What measuring a store is made of. */
export interface StoreFiguresOptions {
  /** Asks the store for the backlog of each destination. */
  readonly queues: () => Promise<readonly QueueState[]>
  /** Asks the store for the rows of its tables, where it can tell. */
  readonly tables?: (() => Promise<readonly TableRows[]>) | undefined
  /** Whether this process reports on the store. Of processes that share one, only the first does. */
  readonly isFirst: () => boolean
  /** Clock and log. */
  readonly runtime: Pick<Runtime, 'clock' | 'log'>
}

/** The least time between two measurements. */
const everyMs = 5_000
/** Measuring takes at most one part in this many of the time. */
const pauseFactor = 20
/** The most time between two measurements, however long one took. */
const pauseMsMax = 60_000

/** Measures a store in the background, so that reading metrics never waits for it. */
export class StoreFiguresWatch {
  readonly #options: StoreFiguresOptions
  #latest: StoreFigures | undefined
  #next: Timer | undefined
  #isStopped = false

  constructor(options: StoreFiguresOptions) {
    this.#options = options
  }

  /** What the store said last; undefined before that, and where another process tells of it. */
  get latest(): StoreFigures | undefined {
    return this.#options.isFirst() ? this.#latest : undefined
  }

  /** Measures now and from now on. */
  async start(): Promise<void> {
    const elapsedMs = stopwatch()
    await this.#measure()
    if (this.#isStopped) return
    const pauseMs = Math.min(Math.max(elapsedMs() * pauseFactor, everyMs), pauseMsMax)
    this.#next = this.#options.runtime.clock.schedule(pauseMs, () => void this.start())
  }

  /** Measures no more. Idempotent. */
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
      const measured = await Promise.all([queues(), tables?.()])
      this.#latest = { queues: measured[0], tables: measured[1] ?? [], measuredAtMs }
    } catch (error) {
      if (this.#isStopped) return
      runtime.log.warn('the store could not be measured', { error: messageOf(error) })
    }
  }
}
