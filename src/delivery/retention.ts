import { setImmediate as nextTurn } from 'node:timers/promises'
import { messageOf, type GivenUpDeliveries } from '../model/index.ts'
import type { Runtime, Timer } from '../runtime/index.ts'
import type { DeliveryStore, PurgeRequest } from './store-port.ts'

/** How long a store keeps deliveries and messageIds. */
export interface RetentionPolicy {
  /** Delivered deliveries, with their bodies and requests. */
  readonly deliveredMs: number
  /** Failed and expired deliveries. */
  readonly failedMs: number
  /** Deliveries without an attempt, which expire after this time. */
  readonly untriedMs: number
  /** messageIds, for deduplication. */
  readonly messageIdsMs: number
}

const hourMs = 60 * 60 * 1_000

/** One day for delivered deliveries and messageIds, 30 days for everything else. */
export const defaultRetention: RetentionPolicy = Object.freeze({
  deliveredMs: 24 * hourMs,
  failedMs: 30 * 24 * hourMs,
  untriedMs: 30 * 24 * hourMs,
  messageIdsMs: 24 * hourMs,
})

interface RetentionOptions {
  readonly store: Pick<DeliveryStore, 'purge'>
  /** {@link defaultRetention} by default. */
  readonly policy?: RetentionPolicy | undefined
  readonly runtime: Runtime
  /** Maximum rows of each kind per step; 200 by default, so that other calls wait only milliseconds. */
  readonly rowsAtOnce?: number | undefined
}

const everyMs = 60_000

/**
 * Purges a store at the start and then every minute: deletes old rows, and expires deliveries whose time is over.
 * Purges a few rows at a time, so that other calls can use the store in between. If a purge fails, the next one makes
 * up for it.
 */
export class Retention {
  readonly #options: RetentionOptions
  #policy: RetentionPolicy
  #timer: Timer | undefined
  #run: Promise<void> | undefined
  #stopped = false

  constructor(options: RetentionOptions) {
    this.#options = options
    this.#policy = options.policy ?? defaultRetention
  }

  get policy(): RetentionPolicy {
    return this.#policy
  }

  /** Replaces the policy, also for a purge in progress. Purges at once if {@link start} was called. */
  replacePolicy(policy: RetentionPolicy): void {
    this.#policy = policy
    if (this.#timer === undefined) return
    this.#timer.cancel()
    this.start()
  }

  /** Purges now, and a minute after each purge has ended. */
  start(): void {
    if (this.#stopped) return
    this.#timer = undefined
    this.#run = this.#purge().then(() => {
      if (this.#stopped) return
      this.#timer = this.#options.runtime.clock.schedule(everyMs, () => this.start())
    })
  }

  /** Stops purging. Resolves once no purge is in progress. Idempotent. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    await this.#run
  }

  async #purge(): Promise<void> {
    const { store, runtime } = this.#options
    const { clock, log, observer } = runtime
    const nowMs = clock.nowMs()
    const release = clock.hold()
    const counts = new Map<string, GivenUpDeliveries>()
    try {
      for (let rows = 1; rows > 0 && !this.#stopped;) {
        const result = await store.purge(this.#request(nowMs))
        for (const expired of result.expired) {
          const key = `${expired.reason} ${expired.destinationId}`
          const deliveries = (counts.get(key)?.deliveries ?? 0) + expired.deliveries
          counts.set(key, { ...expired, deliveries })
          observer.gaveUp?.(expired)
        }
        rows = result.rows
        await nextTurn()
      }
    } catch (error) {
      log.warn('old deliveries cannot be purged', { error: messageOf(error) })
    } finally {
      release()
      this.#tell([...counts.values()])
    }
  }

  #request(nowMs: number): PurgeRequest {
    const { deliveredMs, failedMs, untriedMs, messageIdsMs } = this.#policy
    return {
      nowMs,
      deliveredBeforeMs: nowMs - deliveredMs,
      failedBeforeMs: nowMs - failedMs,
      abandonedBeforeMs: nowMs - untriedMs,
      messageIdsBeforeMs: nowMs - messageIdsMs,
      rowsMax: this.#options.rowsAtOnce ?? 200,
    }
  }

  #tell(counts: readonly GivenUpDeliveries[]): void {
    for (const { reason, destinationId: destination, deliveries } of counts) {
      const fields = { reason, destination, deliveries }
      this.#options.runtime.log.warn(
        'deliveries expired while they were waiting; send them again with ' +
          '`evroute deliveries retry --state expired --destination <id>`',
        fields,
      )
    }
  }
}
