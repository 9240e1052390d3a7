import type { AddOutcome } from '../delivery/index.ts'
import type { IntakeBatch, IntakeOutcome } from '../intake/index.ts'
import type { RejectionCode } from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'
import type { RefusalCode, RejectedCall } from './answer.ts'

/** What sends the calls of a source: it decides whose address a request comes from. */
export type SourceType = 'browser' | 'mobile' | 'server'

/** A sender of calls, as far as the tracking API needs to know it. */
export interface TrackingSource {
  /** Unique among the sources. */
  readonly id: string
  /** Off means that its calls are refused with `source_disabled`. */
  readonly enabled: boolean
  /** Calls that it may send per second in the long run; without it there is no limit. */
  readonly eventsPerSecond?: number | undefined
  /** What its clients are; without it each request tells whether it comes from a browser. */
  readonly type?: SourceType | undefined
}

/** Options of the tracking API. */
export interface TrackingApiOptions {
  /**
   * Finds the source of a write key. It is asked at every request, so that a change takes effect at
   * once, and must not tell by its time how close a key is: `SourceDirectory` does not.
   */
  readonly sourceOf: (writeKey: string) => TrackingSource | undefined
  /** Takes calls in; rejects when they cannot be stored, and then none of them is acknowledged. */
  readonly accept: (batch: IntakeBatch) => Promise<readonly IntakeOutcome[]>
  /** Whether so much waits to be stored that nothing more is taken. */
  readonly isFull: () => boolean
  /** Clock and log. */
  readonly runtime: Runtime
  /** Learns the outcomes of calls and requests. */
  readonly observer?: TrackingObserver
  /**
   * How many proxies stand in front and write `X-Forwarded-For`, `-Proto` and `-Host`; 0 by default:
   * these headers are not believed then.
   */
  readonly trustedProxies?: number
  /** The URL that clients are told; by default the one that each request names. */
  readonly publicUrl?: string | undefined
}

/** Calls of a source with the same outcome. */
export interface CountedCalls {
  /** The source. */
  readonly sourceId: string
  /** Their outcome in the store, or why they were rejected. */
  readonly outcome: AddOutcome | RejectionCode
  /** How many. */
  readonly count: number
}

/** A request that was refused as a whole. */
export interface RefusedRequest {
  /** The source; null when the request was refused before its write key was known. */
  readonly sourceId: string | null
  /** Why. */
  readonly code: RefusalCode
}

/** Observes the tracking API, for metrics. It must not throw. */
export interface TrackingObserver {
  /** Calls were accepted or rejected. */
  calls(counted: CountedCalls): void
  /** Some of the calls of a request were rejected: the first ones of them, at most 20. */
  rejected(sourceId: string, calls: readonly RejectedCall[]): void
  /** The calls of a request were stored, this long after its body was read. */
  stored(stored: { readonly sourceId: string; readonly durationMs: number }): void
  /** A request was refused. */
  refused(refused: RefusedRequest): void
}
