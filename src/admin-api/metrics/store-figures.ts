import { messageOf } from '../../model/index.ts'
import { stopwatch, type Runtime, type Timer } from '../../runtime/index.ts'
import type { TableRows } from '../../store/index.ts'
import type { QueueState } from './queue-states.ts'

/** The figures of a store that metrics report. */
export interface StoreFigures {
  /** The backlog of each destination. */
  readonly queues: readonly QueueState[]
  /** Row counts of the tables; empty if the store cannot count them. */
  readonly tables: readonly TableRows[]
  /** When the store was read, in milliseconds since 1970. */
  readonly measuredAtMs: number
}

/** The parts that {@link StoreFiguresWatch} needs. */
export interface StoreFiguresOptions {
  /** Reads the backlog of each destination. */
  readonly queues: () => Promise<readonly QueueState[]>
  /** Reads the row counts of the tables, if the store has them. */
  readonly tables?: (() => Promise<readonly TableRows[]>) | undefined
  /** Whether this process reports on the store. Only one of the processes that share a store does. */
  readonly isFirst: () => boolean
  readonly runtime: Pick<Runtime, 'clock' | 'log'>
}

/** Minimum pause between two measurements. */
const everyMs = 5_000
/** The pause is at least this many times as long as the measurement took. */
const pauseFactor = 20
/** Maximum pause between two measurements. */
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

  /** The latest figures; undefined before the first measurement, or if a different process reports them. */
  get latest(): StoreFigures | undefined {
    return this.#options.isFirst() ? this.#latest : undefined
  }

  /** Measures now and then periodically. */
  async start(): Promise<void> {
    const elapsedMs = stopwatch()
    await this.#measure()
    if (this.#isStopped) return
    const pauseMs = Math.min(Math.max(elapsedMs() * pauseFactor, everyMs), pauseMsMax)
    this.#next = this.#options.runtime.clock.schedule(pauseMs, () => void this.start())
  }

  /** Stops measuring. Idempotent. */
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
