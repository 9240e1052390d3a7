import type {
  Audience,
  AudienceReader,
  ComputationClass,
  MemberColumns,
  SyncListener,
  SyncOutcome,
} from '../audience/index.ts'
import type { BreakerState, DeliveryLog, EndpointFault } from '../delivery/index.ts'
import type { PageSessions } from '../http/index.ts'
import type { DeliveryLedger, EventType, RegulationType } from '../model/index.ts'
import type { Regulation, RegulationReader } from '../privacy/index.ts'
import type { LogLine, Runtime } from '../runtime/index.ts'
import type { RecentActivity } from './metrics/recent-activity.ts'
import type { SourceActivity } from './metrics/source-activity.ts'

/** What the admin API is made of. */
export interface AdminApiOptions {
  /** Who may ask. */
  readonly access: AdminAccess
  /** What is known of deliveries. */
  readonly log: Pick<DeliveryLog, 'list' | 'story' | 'retry' | 'discard' | 'audit'>
  /** The books of the store. */
  readonly ledger: () => Promise<DeliveryLedger>
  /** Every configured destination, and how it stands. */
  readonly destinations: () => Promise<readonly DestinationState[]>
  /** Every configured source, and where it sends. */
  readonly sources: () => SourcesState
  /** Sends archived events again; ends that when the signal aborts: nobody waits for it any more. */
  readonly replay: (request: ReplayRequest, signal: AbortSignal) => Promise<ReplayOutcome>
  /** Audiences and computed traits. */
  readonly audiences: AudienceOperations
  /** Deletion requests. */
  readonly regulations: RegulationOperations
  /** Why the service cannot do its work, in words; none when it can. */
  readonly ready: Readiness
  /** What `/metrics` tells. */
  readonly metrics: {
    /** The media type of the text. */
    readonly contentType: string
    /** All metrics, as Prometheus reads them. */
    text(): Promise<string>
    /** Deliveries were discarded by hand. */
    discarded(deliveries: number): void
    /** The last hour of this process. */
    readonly recent: Pick<RecentActivity, 'minutes' | 'latency'>
    /** What sources sent to this process. */
    readonly sources: Pick<SourceActivity, 'of'>
    /** When the delivery that waits longest was due, in milliseconds since 1970; null where none is. */
    readonly oldestDueAtMs: number | null
  }
  /** Who is signed in to the page. */
  readonly sessions: PageSessions
  /** Gets a line for each request that changes something or sends something. */
  readonly actions: LogLine
  /** Clock and log. */
  readonly runtime: Pick<Runtime, 'clock' | 'log'>
}

/** Who may ask the admin API. */
export interface AdminAccess {
  /** The address that it listens on. If that is loopback, requests must come by a loopback name. */
  readonly host: string
  /** Callers must know it: `Authorization: Bearer <token>`. Not empty. */
  readonly token: string
  /** Reads metrics and nothing else; null for none. */
  readonly metricsToken: string | null
}

/** Says why a service cannot do its work, in words; nothing when it can. */
export type Readiness = () => Promise<readonly string[]>

/** The configured sources. */
export interface SourcesState {
  /** The URL that they send to. */
  readonly url: string
  /** Each of them. */
  readonly sources: readonly SourceState[]
}

/** A configured source. */
export interface SourceState {
  /** Its id. */
  readonly id: string
  /** Off means that its calls are refused. */
  readonly enabled: boolean
  /** Its write keys, at least one. */
  readonly writeKeys: readonly string[]
  /** The destinations that take its events. */
  readonly destinationIds: readonly string[]
  /** Whether its events are archived. */
  readonly isArchived: boolean
}

/** How a configured destination stands. */
export interface DestinationState {
  /** Its id. */
  readonly id: string
  /** Off means that nothing is sent to it. */
  readonly enabled: boolean
  /** The sources whose events it takes. */
  readonly sourceIds: readonly string[]
  /** Its endpoints. */
  readonly endpoints: readonly EndpointState[]
  /** Its deliveries in the books. */
  readonly ledger: Pick<
    DeliveryLedger,
    'deliveries' | 'delivered' | 'failed' | 'expired' | 'pending'
  >
}

/** How an endpoint stands. */
export interface EndpointState {
  /** Its URL. */
  readonly url: string
  /** Whether requests are sent to it. */
  readonly breaker: BreakerState
  /** When it is probed, in milliseconds since 1970; null unless its breaker is open. */
  readonly probeAtMs: number | null
  /** How it fails webhooks without a retry. */
  readonly faults: readonly EndpointFault[]
}

/** Which archived events are sent again: those that meet every condition that is there. */
export interface ReplayRequest {
  /** Of this source. */
  readonly sourceId?: string | undefined
  /** To this destination only. */
  readonly destinationId?: string | undefined
  /** Accepted at this moment or after, in milliseconds since 1970. */
  readonly sinceMs?: number | undefined
  /** Accepted before this moment. */
  readonly untilMs?: number | undefined
  /** Of one of these types. */
  readonly types?: readonly EventType[] | undefined
  /** Track calls with one of these event names. */
  readonly eventNames?: readonly string[] | undefined
}

/** What a replay did. */
export interface ReplayCounts {
  /** Archived events that met the conditions. */
  readonly events: number
  /** Deliveries that were made of them. */
  readonly deliveries: number
  /** Rows that cannot be read back, whatever was wanted of them; the rest of a damaged file is one. */
  readonly unreadable: number
}

/** What became of a replay. */
export type ReplayOutcome =
  | ({ readonly kind: 'replayed' } & ReplayCounts)
  /** Before its end: the service closes, or nobody waits for it. */
  | ({ readonly kind: 'ended' } & ReplayCounts)
  /** Users are being taken out of archives: it was ended before its end, or not begun. */
  | ({ readonly kind: 'deletion' } & ReplayCounts)
  /** Another replay has not ended yet. */
  | { readonly kind: 'running' }
  /** What the request names is not configured. */
  | {
      readonly kind: 'unknown'
      readonly field: 'source' | 'destination'
      readonly knownIds: readonly string[]
    }
  /** There is nothing that could be replayed. */
  | { readonly kind: 'no_archive' }

/** What can be asked about audiences and computed traits. */
export interface AudienceOperations extends AudienceReader {
  /**
   * Syncs an audience with a list; one sync of an audience at a time.
   *
   * @param list - the bytes of a file: CSV, NDJSON or JSON, also gzipped
   * @throws EvrouteError where the list cannot be read
   */
  sync(request: AudienceSyncRequest, list: AsyncIterable<Uint8Array>): Promise<AudienceSyncOutcome>
  /** Lets all members of an audience leave, with calls that say so, and forgets it. */
  remove(request: AudienceRemoveRequest): Promise<AudienceRemoveOutcome>
}

/** Asks for an audience to be synced. */
export interface AudienceSyncRequest {
  /** What people call it; the key where it is undefined and the audience is new. */
  readonly name: string | undefined
  /** Identifies it; made of the name where it is undefined. One of both is there. */
  readonly key: string | undefined
  /** What it says of a profile. */
  readonly computationClass: ComputationClass
  /** The source whose destinations get the calls; may be undefined where there is only one. */
  readonly sourceId: string | undefined
  /** What the rows of the list are made of. */
  readonly columns: MemberColumns
  /** Whether only to tell what would change. */
  readonly isDryRun: boolean
  /** Is told what happens. */
  readonly listener: SyncListener
  /**
   * Resolves once whoever is told has taken most of it; awaited before every part. Where it is undefined
   * as much is told as there is.
   */
  readonly drained?: (() => Promise<void>) | undefined
  /** Ends it early. */
  readonly signal: AbortSignal
}

/** Asks for an audience to be forgotten. */
export interface AudienceRemoveRequest {
  /** The audience. */
  readonly key: string
  /** Whether only to tell who would leave. */
  readonly isDryRun: boolean
  /** Is told what happens. */
  readonly listener: SyncListener
  /**
   * Resolves once whoever is told has taken most of it; awaited before every part. Where it is undefined
   * as much is told as there is.
   */
  readonly drained?: (() => Promise<void>) | undefined
  /** Ends it early: who has left stays out, and the audience is still there. */
  readonly signal: AbortSignal
}

/** What became of a sync. */
export type AudienceSyncOutcome = SyncOutcome | AudienceRefusal

/** What became of the removal of an audience. */
export type AudienceRemoveOutcome =
  | {
      readonly kind: 'removed' | 'ended' | 'superseded'
      readonly audience: Audience
      /** Members that left. */
      readonly left: number
    }
  | AudienceRefusal

/** Why nothing was begun. */
export type AudienceRefusal =
  /** Another sync of the audience, or its removal, is under way. */
  | { readonly kind: 'running'; readonly key: string }
  /** No such source, or none is named where there are several. */
  | { readonly kind: 'unknown_source'; readonly knownIds: readonly string[] }
  | { readonly kind: 'unknown_audience'; readonly knownKeys: readonly string[] }
  /** No property can be made of the name, or the key is none. */
  | { readonly kind: 'unusable_name'; readonly message: string }

/** What can be asked about deletion requests. */
export interface RegulationOperations extends RegulationReader {
  /** Stores a regulation; what it asks for is done after the answer. */
  create(request: RegulationRequest): Promise<RegulationOutcome>
}

/** Asks for a regulation. */
export interface RegulationRequest {
  /** What it does. */
  readonly type: RegulationType
  /** The users; each may stand in it more than once. */
  readonly userIds: readonly string[]
  /** The sources; null for all. */
  readonly sourceIds: readonly string[] | null
}

/** What became of a request for a regulation. */
export type RegulationOutcome =
  | { readonly kind: 'created'; readonly regulation: Regulation }
  | { readonly kind: 'unknown_source'; readonly knownIds: readonly string[] }
