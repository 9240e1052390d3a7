import type { DestinationSettings } from '../../../dist/webhook/index.js'
import { Program } from '../program.ts'

/** Events to accept and deliver, and the store for them. */
export interface Load {
  /** The store's file; created if it doesn't exist. */
  readonly path: string
  readonly destinations: readonly DestinationSettings[]
  /**
   * The sources of the events, a batch from each in turn. In most benches, a source has the id of its
   * destination.
   */
  readonly sourceIds: readonly string[]
  /**
   * The destinations whose deliveries are measured; by default those with the ids of the sources. The run
   * ends once all of these deliveries are settled.
   */
  readonly measuredIds?: readonly string[]
  /** Events to measure. */
  readonly events: number
  /** Events before those, to open connections and compile code; none by default. */
  readonly warmUpEvents?: number
  /** Events per batch; default 100. */
  readonly batchSize?: number
  /** Events per second; undefined to offer them as fast as they are accepted. */
  readonly eventsPerSecond?: number
}

export interface Measurement {
  /** Deliveries per second, from the first event offered until the last settlement is written. */
  readonly perSecond: number
  /** Events per second, from the first one offered until the last one is accepted. */
  readonly acceptedPerSecond: number
  /**
   * Milliseconds from the answer to an event until the 2xx for its delivery. Null unless events come at a
   * fixed rate, because otherwise it would measure the queue.
   */
  readonly latency: Latency | null
  /** Peak memory of the process, in MB. */
  readonly peakMemoryMb: number
  /** CPU time of all threads per delivery, in microseconds. */
  readonly cpuUs: number
  /** The share of the time in which the main thread was idle. */
  readonly idleShare: number
}

/** Latencies of all measured deliveries, in milliseconds. */
export interface Latency {
  readonly p50Ms: number
  readonly p99Ms: number
}

/** A process that runs one load after another. */
export type LoadProgram = Program<Load, Measurement>

/** Starts a process that runs loads. */
export function startLoadProgram(): Promise<LoadProgram> {
  return Program.start(new URL('load-program.ts', import.meta.url))
}
