import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RequestRecord, SettledDelivery } from '../../../dist/model/index.js'
import { createRuntime, silentLog, silentObserver, stopwatch } from '../../../dist/runtime/index.js'
import { Pipeline } from '../../../dist/pipeline/index.js'
import { openStore } from '../../../dist/store/index.js'
import { checkDestination } from '../../../dist/webhook/index.js'
import { sampleCall, sampleMessageId } from '../sample-webhook.ts'
import { Countdown } from './countdown.ts'
import { inBatches } from './in-batches.ts'
import type { Latency, Load, Measurement } from './load.ts'

const batchSizeDefault = 100
const batchesAtOnce = 8

/**
 * Takes events from intake to settlement, with a store in a file and everything that production has:
 * synchronous commits, deduplication, the ledger and the log of all requests.
 */
export class LoadRun {
  readonly #load: Load
  readonly #measuredIds: ReadonlySet<string>
  readonly #elapsedMs = stopwatch()
  readonly #acceptedAtMs = new Map<string, number>()
  readonly #latenciesMs: number[] = []
  #settlements = new Countdown(0)

  constructor(load: Load) {
    const { sourceIds, measuredIds = sourceIds } = load
    this.#load = load
    this.#measuredIds = new Set(measuredIds)
  }

  /** Offers the events, waits for the measured deliveries, and closes everything. */
  async measure(): Promise<Measurement> {
    const { path, destinations, events, warmUpEvents = 0 } = this.#load
    const pipeline = new Pipeline({
      destinations: destinations.map((each) => checkDestination(each)),
      runtime: createRuntime({ log: silentLog, observer: this.#observer() }),
      store: await openStore(`sqlite:${path}`, { ownThread: true }),
      failed: (error) => this.#settlements.fail(error),
    })
    pipeline.start()
    try {
      if (warmUpEvents > 0) await this.#deliver(pipeline, warmUpEvents)
      this.#latenciesMs.length = 0
      const cpu = process.cpuUsage()
      const loop = performance.eventLoopUtilization()
      const { acceptedMs, settledMs, settled } = await this.#deliver(pipeline, events)
      const { user, system } = process.cpuUsage(cpu)
      return {
        perSecond: (settled * 1_000) / settledMs,
        acceptedPerSecond: (events * 1_000) / acceptedMs,
        latency: this.#latency(),
        peakMemoryMb: process.resourceUsage().maxRSS / 1_024,
        cpuUs: (user + system) / settled,
        idleShare: 1 - performance.eventLoopUtilization(loop).utilization,
      }
    } finally {
      await pipeline.close()
    }
  }

  /** Offers events, and waits until all measured deliveries are settled. */
  async #deliver(
    pipeline: Pipeline,
    events: number,
  ): Promise<{ acceptedMs: number; settledMs: number; settled: number }> {
    const settled = (events * this.#measuredIds.size) / this.#load.sourceIds.length
    this.#settlements = new Countdown(settled)
    const startedAtMs = this.#elapsedMs()
    await this.#offerAll(pipeline, events)
    const acceptedMs = this.#elapsedMs() - startedAtMs
    await this.#settlements.over
    return { acceptedMs, settledMs: this.#elapsedMs() - startedAtMs, settled }
  }

  #observer(): typeof silentObserver {
    const settled = (delivery: SettledDelivery): void => this.#settle(delivery)
    const observer = { ...silentObserver, settled }
    if (this.#load.eventsPerSecond === undefined) return observer
    return { ...observer, request: (record: RequestRecord) => this.#answered(record) }
  }

  #settle({ destinationId, state, reason }: SettledDelivery): void {
    if (!this.#measuredIds.has(destinationId)) return
    if (state === 'delivered') this.#settlements.step()
    else this.#settlements.fail(new Error(`A delivery is ${state}: ${reason}`))
  }

  #answered({ messageId, destinationId, outcome }: RequestRecord): void {
    if (outcome !== 'success' || !this.#measuredIds.has(destinationId)) return
    const nowMs = this.#elapsedMs()
    // Without an entry, the event was delivered before its batch was answered.
    this.#latenciesMs.push(nowMs - (this.#acceptedAtMs.get(messageId) ?? nowMs))
    this.#acceptedAtMs.delete(messageId)
  }

  #latency(): Latency | null {
    const sorted = this.#latenciesMs.toSorted((a, b) => a - b)
    const [p50Ms, p99Ms] = [0.5, 0.99].map((part) => sorted[Math.floor(sorted.length * part)])
    return p50Ms === undefined || p99Ms === undefined ? null : { p50Ms, p99Ms }
  }

  #offerAll(pipeline: Pipeline, events: number): Promise<void> {
    const { batchSize = batchSizeDefault, sourceIds, eventsPerSecond } = this.#load
    const startedAtMs = this.#elapsedMs()
    return inBatches({ count: events, batchSize, batchesAtOnce }, async (from, length) => {
      if (eventsPerSecond !== undefined) {
        const dueMs = startedAtMs + (from * 1_000) / eventsPerSecond
        await sleep(dueMs - this.#elapsedMs())
      }
      const sourceId = sourceIds[(from / batchSize) % sourceIds.length] ?? ''
      const messageIds = Array.from({ length }, sampleMessageId)
      await pipeline.intake.accept({ sourceId, calls: messageIds.map(sampleCall) })
      if (eventsPerSecond === undefined) return
      const nowMs = this.#elapsedMs()
      for (const messageId of messageIds) this.#acceptedAtMs.set(messageId, nowMs)
    })
  }
}
