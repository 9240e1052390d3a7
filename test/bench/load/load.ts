import type { DestinationSettings } from '../../../dist/webhook/index.js'
import { Program } from '../program.ts'

/** What evroute is to take in and deliver, and over what. */
export interface Load {
  /** The store's file; it is made where there is none. */
  readonly path: string
  /** All that the pipeline knows. */
  readonly destinations: readonly DestinationSettings[]
  /** The sources that events come from, batch by batch in turn; by most benches named as their destination. */
  readonly fedIds: readonly string[]
  /** Of those the ones whose deliveries are measured, by default all; the run ends once all are settled. */
  readonly measuredIds?: readonly string[]
  /** Events over all that are measured. */
  readonly events: number
  /** Events before those, so that connections are made and all is compiled; none by default. */
  readonly warmUpEvents?: number
  /** Events that are offered together; 100 by default. */
  readonly batchSize?: number
  /** Events per second; as fast as they are taken when undefined. */
  readonly eventsPerSecond?: number
}

/** What was measured. */
export interface Measurement {
  /** Deliveries per second, from the first event offered to the last settlement written. */
  readonly perSecond: number
  /** Events per second, from the first offered to the last accepted. */
  readonly acceptedPerSecond: number
  /**
   * Milliseconds from the answer to an event to the 2xx of its delivery; measured only where events come
   * at a pace, else they are those of the queue.
   */
  readonly latency: Latency | null
  /** The most memory that the process ever had, in MB. */
  readonly peakMemoryMb: number
  /** CPU of all threads for each delivery, in microseconds. */
  readonly cpuUs: number
  /** The part of the time in which the main thread waited. */
  readonly idleShare: number
}

/** Of all deliveries, in milliseconds. */
export interface Latency {
  /** The one in the middle. */
  readonly p50Ms: number
  /** One in a hundred takes longer. */
  readonly p99Ms: number
}

/** A process that bears loads, one after the other. */
export type LoadProgram = Program<Load, Measurement>

/** Starts one. */
export function startLoadProgram(): Promise<LoadProgram> {
  return Program.start(new URL('load-program.ts', import.meta.url))
}
