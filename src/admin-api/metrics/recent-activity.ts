import type { Clock } from '../../runtime/index.ts'

interface ActiveMinute {
  readonly atMs: number
  readonly accepted: number
  readonly delivered: number
  /** Deliveries that failed or expired. */
  readonly failed: number
}

const minuteMs = 60_000
const minutesMax = 60
const latenciesMax = 1_000

/** Counts what this process did in the last hour. */
export class RecentActivity {
  readonly #clock: Pick<Clock, 'nowMs'>
  /** A ring buffer of the last 60 minutes. */
  readonly #minutes: { -readonly [Key in keyof ActiveMinute]: ActiveMinute[Key] }[] = []
  readonly #latencies = new Float64Array(latenciesMax)
  #latencyCount = 0

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock
  }

  count(what: 'accepted' | 'delivered' | 'failed', count: number): void {
    const minute = Math.floor(this.#clock.nowMs() / minuteMs)
    const slot = minute % minutesMax
    const atMs = minute * minuteMs
    let counts = this.#minutes[slot]
    if (counts?.atMs !== atMs) {
      counts = { atMs, accepted: 0, delivered: 0, failed: 0 }
      this.#minutes[slot] = counts
    }
    counts[what] += count
  }

  /** Adds the latency of a delivery to {@link latency}, in place of the oldest. */
  addLatency(latencyMs: number): void {
    this.#latencies[this.#latencyCount % latenciesMax] = latencyMs
    this.#latencyCount += 1
  }

  /** The last 60 minutes, oldest first. The last one is the current minute. */
  get minutes(): readonly ActiveMinute[] {
    const current = Math.floor(this.#clock.nowMs() / minuteMs)
    return Array.from({ length: minutesMax }, (_, index) => {
      const minute = current - minutesMax + 1 + index
      const atMs = minute * minuteMs
      const counts = this.#minutes[minute % minutesMax]
      return counts?.atMs === atMs ? { ...counts } : { atMs, accepted: 0, delivered: 0, failed: 0 }
    })
  }

  /** Quantiles of the time from acceptance to a 2xx answer, over the last 1,000 deliveries; null without any. */
  get latency(): Readonly<Record<'p50Ms' | 'p99Ms', number | null>> & {
    readonly deliveries: number
  } {
    const deliveries = Math.min(this.#latencyCount, latenciesMax)
    const sorted = this.#latencies.slice(0, deliveries).sort()
    const quantile = (share: number): number | null =>
      sorted[Math.min(deliveries - 1, Math.floor(share * deliveries))] ?? null
    return { deliveries, p50Ms: quantile(0.5), p99Ms: quantile(0.99) }
  }
}
