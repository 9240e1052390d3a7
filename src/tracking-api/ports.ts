import type { AddOutcome } from '../delivery/index.ts'
import type { IntakeBatch, IntakeOutcome } from '../intake/index.ts'
import type { RejectionCode } from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'
import type { RefusalCode, RejectedCall } from './answer.ts'

/** The kind of a source's clients. It decides whether a client's address is the user's. */
export type SourceType = 'browser' | 'mobile' | 'server'

/** The settings of a source that the tracking API needs. */
export interface TrackingSource {
  readonly id: string
  /** If false, requests get `source_disabled`. */
  readonly enabled: boolean
  /** Rate limit, averaged over time; undefined for none. */
  readonly eventsPerSecond?: number | undefined
  /** The kind of its clients; undefined to decide by the headers of each request. */
  readonly type?: SourceType | undefined
}

/** What the tracking API needs from its service. */
export interface TrackingApiOptions {
  /** Finds the source of a write key, in a time that reveals nothing about the key. Called for every request. */
  readonly sourceOf: (writeKey: string) => TrackingSource | undefined
  /** Stores calls. If it rejects, none of the calls is acknowledged. */
  readonly accept: (batch: IntakeBatch) => Promise<readonly IntakeOutcome[]>
  /** Whether too many events wait to be stored. Requests are then refused. */
  readonly isFull: () => boolean
  readonly runtime: Runtime
  readonly observer?: TrackingObserver
  /** Number of proxies that set `X-Forwarded-For`, `-Proto` and `-Host`; 0 (the default) ignores these headers. */
  readonly trustedProxies?: number
  /** The URL to announce to clients; by default the one that each client used. */
  readonly publicUrl?: string | undefined
  /** Whether to store the `traceparent` of a request with its deliveries; false by default. */
  readonly keepsTraceparent?: boolean
}

/** How many calls of one source had the same outcome. */
export interface CountedCalls {
  readonly sourceId: string
  /** Their outcome in the store, or why they were rejected. */
  readonly outcome: AddOutcome | RejectionCode
  readonly count: number
}

/** A request that was refused as a whole. */
export interface RefusedRequest {
  /** Null if the request was refused before its write key was known. */
  readonly sourceId: string | null
  readonly code: RefusalCode
}

/** Observes the tracking API, for metrics. Its methods must not throw. */
export interface TrackingObserver {
  /** Called for each outcome of a request's calls. */
  calls(counted: CountedCalls): void
  /** Called with the first 20 rejected calls of a request. */
  rejected(sourceId: string, calls: readonly RejectedCall[]): void
  /** Called when calls have been stored. The duration starts once their body has been read. */
  stored(stored: { readonly sourceId: string; readonly durationMs: number }): void
  refused(refused: RefusedRequest): void
}
