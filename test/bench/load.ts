import { setTimeout as sleep } from 'node:timers/promises'
import type { Destination, RequestRecord } from '../../src/model/index.ts'
import { createRuntime, silentLog, silentObserver, stopwatch } from '../../src/runtime/index.ts'
import { Pipeline } from '../../src/service/index.ts'
import { openStore } from '../../src/store/index.ts'

/** What is sent, and over what. */
export interface Load {
  /** The store's file. */
  readonly path: string
  /** All that the pipeline knows; each is fed by the source of its own name. */
  readonly destinations: readonly Destination[]
  /** The destinations that events are for, in turn. */
  readonly fed: readonly Destination[]
  /** Those whose deliveries are measured; the run ends once all of them arrived. */
  readonly measured: ReadonlySet<string>
  /** Events over all. */
  readonly events: number
  /** Events per second; as fast as they are taken when undefined. */
  readonly eventsPerSecond?: number
}

/** What was measured. */
export interface Measurement {
  /** Deliveries per second, from the first event offered to the last arrival. */
  readonly perSecond: number
  /** Milliseconds from the answer to an event to the 2xx of its delivery, of one in a hundred longest. */
  readonly p99Ms: number
  /** The same, of the one in the middle. */
  readonly p50Ms: number
  /** The most memory that the process had, in MB. */
  readonly rssMb: number
}

/** Events that are offered in one batch. */
const batchSize = 20
/** Batches that wait for their answer at once. */
const batchesAtOnce = 8

/** Offers the events, waits for what is measured, and lets go of everything. */
export async function measure(load: Load): Promise<Measurement> {
  const run = new Run(load)
  try {
    return await run.measure()
  } finally {
    await run.close()
  }
}

class Run {
  readonly #load: Load
  readonly #acceptedAtMs = new Map<string, number>()
  readonly #latenciesMs: number[] = []
  readonly #expected: number
  #pipeline: Pipeline | undefined
  #arrived = 0
  #allArrived = (): void => undefined
  #rssMax = 0
  readonly #elapsedMs = stopwatch()

  constructor(load: Load) {
    this.#load = load
    const measured = load.fed.filter(({ id }) => load.measured.has(id)).length
    this.#expected = (load.events * measured) / load.fed.length
  }

  async measure(): Promise<Measurement> {
    const { path, destinations } = this.#load
    const observer = { ...silentObserver, request: (record: RequestRecord) => this.#ended(record) }
    const runtime = createRuntime({ log: silentLog, observer })
    this.#pipeline = new Pipeline({
      destinations,
      runtime,
      store: await openStore(`sqlite:${path}`),
    })
    const arrived = new Promise<void>((resolve) => (this.#allArrived = resolve))
    const memory = setInterval(() => this.#watchMemory(), 100)
    const startedAtMs = this.#elapsedMs()
    await this.#offerAll(this.#pipeline)
    await arrived
    const seconds = (this.#elapsedMs() - startedAtMs) / 1_000
    clearInterval(memory)
    this.#watchMemory()
    const sorted = this.#latenciesMs.toSorted((a, b) => a - b)
    return {
      perSecond: this.#expected / seconds,
      p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? NaN,
      p50Ms: sorted[Math.floor(sorted.length * 0.5)] ?? NaN,
      rssMb: this.#rssMax / 1024 / 1024,
    }
  }

  async close(): Promise<void> {
    await this.#pipeline?.close()
  }

  #ended({ messageId, destinationId, outcome }: RequestRecord): void {
    if (outcome !== 'success' || !this.#load.measured.has(destinationId)) return
    const nowMs = this.#elapsedMs()
    // Without an entry the event was delivered before its batch was answered.
    this.#latenciesMs.push(nowMs - (this.#acceptedAtMs.get(messageId) ?? nowMs))
    this.#acceptedAtMs.delete(messageId)
    this.#arrived++
    if (this.#arrived === this.#expected) this.#allArrived()
  }

  async #offerAll(pipeline: Pipeline): Promise<void> {
    const { events, eventsPerSecond } = this.#load
    const batches = events / batchSize
    const startedAtMs = this.#elapsedMs()
    let next = 0
    const offer = async (): Promise<void> => {
      while (next < batches) {
        const batch = next++
        if (eventsPerSecond !== undefined) {
          const dueMs = startedAtMs + (batch * batchSize * 1_000) / eventsPerSecond
          await sleep(dueMs - this.#elapsedMs())
        }
        await this.#offerBatch(pipeline, batch)
      }
    }
    await Promise.all(Array.from({ length: batchesAtOnce }, offer))
  }

  async #offerBatch(pipeline: Pipeline, batch: number): Promise<void> {
    const { fed } = this.#load
    const { id = '' } = fed[batch % fed.length] ?? {}
    const calls = Array.from({ length: batchSize }, (_, index) => ({
      type: 'track',
      event: 'Order Completed',
      userId: `user-${batch}`,
      messageId: `${id}-${batch}-${index}`,
      properties: { total: 39.95, currency: 'EUR', note: 'x'.repeat(300) },
    }))
    await pipeline.intake.accept({ sourceId: id, calls })
    const nowMs = this.#elapsedMs()
    for (const { messageId } of calls) this.#acceptedAtMs.set(messageId, nowMs)
  }

  #watchMemory(): void {
    this.#rssMax = Math.max(this.#rssMax, process.memoryUsage.rss())
  }
}
