import type { GivenUpDeliveries } from '../model/index.ts'
import type { Runtime, Timer } from '../runtime/index.ts'

/** A backlog is no longer full after this time without a refused delivery. */
const quietMs = 60_000

interface Full {
  deliveries: number
  lastMs: number
}

/**
 * Logs when a destination's backlog is full, so that new deliveries fail: once when that begins, and with a count
 * when it is over.
 */
export class FullBacklogs {
  readonly #runtime: Pick<Runtime, 'clock' | 'log'>
  /** Keyed by destination, so the configuration bounds their number. */
  readonly #full = new Map<string, Full>()
  #look: Timer | undefined

  constructor(runtime: Pick<Runtime, 'clock' | 'log'>) {
    this.#runtime = runtime
  }

  /** Notes deliveries that failed because the backlog was full. */
  note({ destinationId, deliveries }: GivenUpDeliveries): void {
    const { clock, log } = this.#runtime
    const known = this.#full.get(destinationId)
    const lastMs = clock.nowMs()
    if (known !== undefined) {
      known.deliveries += deliveries
      known.lastMs = lastMs
      return
    }
    this.#full.set(destinationId, { deliveries, lastMs })
    log.warn(
      'the backlog of a destination is full: new deliveries fail as backlog_full until its endpoint ' +
        'accepts webhooks; repair the endpoint or raise backlogMax, then run `evroute deliveries retry`',
      { destinationId },
    )
    this.#look ??= clock.schedule(quietMs, () => this.#lookAgain())
  }

  /** Logs the count for each full backlog, and stops watching. Idempotent. */
  close(): void {
    this.#look?.cancel()
    this.#end('deliveries failed because the backlog of a destination was full', () => true)
  }

  #lookAgain(): void {
    const { clock } = this.#runtime
    const quietSinceMs = clock.nowMs() - quietMs
    this.#end(
      'a destination has room for new deliveries again',
      ({ lastMs }) => lastMs <= quietSinceMs,
    )
    const isAnyFull = this.#full.size > 0
    this.#look = isAnyFull ? clock.schedule(quietMs, () => this.#lookAgain()) : undefined
  }

  #end(message: string, isOver: (full: Full) => boolean): void {
    for (const [destinationId, full] of this.#full) {
      if (!isOver(full)) continue
      this.#full.delete(destinationId)
      this.#runtime.log.info(message, { destinationId, failed: full.deliveries })
    }
  }
}
