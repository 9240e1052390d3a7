import type { Clock } from '../../runtime/index.ts'

/** What a service did in a minute. */
export interface ActiveMinute {
  /** When it began, in milliseconds since 1970. */
  readonly atMs: number
  /** Calls that were accepted. */
  readonly accepted: number
  /** Deliveries that an endpoint took. */
  readonly delivered: number
  /** Deliveries that failed or expired. */
  readonly failed: number
}

/** The times from acceptance to an answer 2xx, of the latest deliveries. */
export interface RecentLatency {
  /** How many deliveries are meant, at most 1,000. */
  readonly deliveries: number
  /** Half of them took less, in milliseconds; null where there is none. */
  readonly p50Ms: number | null
  /** 99 of 100 took less. */
  readonly p99Ms: number | null
}

const minuteMs = 60_000
const minutesMax = 60
const latenciesMax = 1_000

/** Counts what this process did in the last hour. */
export class RecentActivity {
  readonly #clock: Pick<Clock, 'nowMs'>
  /** By the minute, modulo an hour. */
  readonly #minutes: { -readonly [Key in keyof ActiveMinute]: ActiveMinute[Key] }[] = []
  readonly #latencies = new Float64Array(latenciesMax)
  #latencyCount = 0

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock
  }

  /** Counts what happened now. */
  count(what: 'accepted' | 'delivered' | 'failed', count: number): void {
    const minute = Math.floor(this.#clock.nowMs() / minuteMs)
    const place = minute % minutesMax
    const atMs = minute * minuteMs
    let counts = this.#minutes[place]
    if (counts?.atMs !== atMs) {
      counts = { atMs, accepted: 0, delivered: 0, failed: 0 }
      this.#minutes[place] = counts
    }
    counts[what] += count
  }

  /** Notes how long a delivery took. */
  took(latencyMs: number): void {
    this.#latencies[this.#latencyCount % latenciesMax] = latencyMs
    this.#latencyCount += 1
  }

  /** The last hour, the oldest minute first; the one under way is the last. */
  get minutes(): readonly ActiveMinute[] {
    const current = Math.floor(this.#clock.nowMs() / minuteMs)
    return Array.from({ length: minutesMax }, (_, index) => {
      const minute = current - minutesMax + 1 + index
      const atMs = minute * minuteMs
      const counts = this.#minutes[minute % minutesMax]
      return counts?.atMs === atMs ? { ...counts } : { atMs, accepted: 0, delivered: 0, failed: 0 }
    })
  }

  /** How long the latest deliveries took. */
  get latency(): RecentLatency {
    const deliveries = Math.min(this.#latencyCount, latenciesMax)
    const sorted = this.#latencies.slice(0, deliveries).sort()
    const quantile = (share: number): number | null =>
      sorted[Math.min(deliveries - 1, Math.floor(share * deliveries))] ?? null
    return { deliveries, p50Ms: quantile(0.5), p99Ms: quantile(0.99) }
  }
}
