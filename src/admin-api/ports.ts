import type {
  AudienceReader,
  AudienceRefusal,
  ComputationClass,
  MemberColumns,
  RemovalOutcome,
  SyncListener,
  SyncOutcome,
} from '../audience/index.ts'
import type { Backlog, DeliveryFilter, DeliveryStore } from '../delivery/index.ts'
import type { PageSessions } from '../http/index.ts'
import type {
  CreateRegulationOutcome,
  RegulationReader,
  RegulationRequest,
} from '../privacy/index.ts'
import type { LogLine, Runtime } from '../runtime/index.ts'
import type { Metrics } from './metrics/metrics.ts'
import type { DestinationFields, SourceFields } from './answer-schemas.ts'

/** The parts of a service that the admin API reads and changes, and its tokens. */
export interface AdminApiOptions {
  readonly access: AdminAccess
  readonly store: Pick<
    DeliveryStore,
    'list' | 'story' | 'retry' | 'discard' | 'countLost' | 'audit' | 'ledger'
  >
  readonly wake: () => void
  /** Returns the state of the configured destinations, with whole URLs. */
  readonly destinations: () => Promise<readonly DestinationFields[]>
  /** Returns whether the admin API has disabled a destination that the configuration enables. */
  readonly isDisabledByHand: (id: string) => boolean
  readonly orphanedBacklogs: () => Promise<readonly Backlog[]>
  readonly destinationActions: DestinationActions
  readonly sources: () => SourcesState
  /** Replays archived events. The signal ends the replay when the client has left. */
  readonly replay: (request: ReplayRequest, signal: AbortSignal) => Promise<ReplayOutcome>
  readonly audiences: AudienceOperations
  readonly regulations: RegulationOperations
  /** Returns why the service is not ready; an empty list if it is ready. */
  readonly ready: () => Promise<readonly string[]>
  readonly metrics: Metrics
  readonly sessions: PageSessions
  /** Logs each request that changes or sends something. */
  readonly actions: LogLine
  readonly runtime: Pick<Runtime, 'clock' | 'log'>
}

/** The address and the tokens of the admin API. */
export interface AdminAccess {
  /** The address that the API listens on. If it is a loopback address, requests must use a loopback name. */
  readonly host: string
  /** The bearer token that every request must carry; not empty. */
  readonly token: string
  /** The bearer token that reads metrics only; null for none. */
  readonly metricsToken: string | null
}

/** The configured sources, without the counts of their calls, and the URL that they send to. */
export interface SourcesState {
  readonly url: string
  readonly sources: readonly Omit<SourceFields, 'accepted' | 'rejected' | 'latestRejected'>[]
}

/** Actions on a destination in this process. For an unknown id, `setEnabled` returns false and `sendTest` undefined. */
export interface DestinationActions {
  /** Enables or disables the destination, until its `enabled` in the file changes or the process ends. */
  setEnabled(id: string, enabled: boolean): boolean
  /** Delivers a sample to this destination only. Resolves to its messageId, or to null if the destination is disabled. */
  sendTest(id: string): Promise<string | null | undefined>
}

/** Selects the archived events that meet every condition. */
export interface ReplayRequest extends Pick<DeliveryFilter, 'types' | 'sinceMs' | 'untilMs'> {
  readonly sourceId?: string | undefined
  /** Sends the events to this destination only. */
  readonly destinationId?: string | undefined
  readonly eventNames?: readonly string[] | undefined
}

/** What a replay read from archives, and the deliveries that it added. */
export interface ReplayCounts {
  /** Archived events that met the conditions. */
  readonly events: number
  readonly deliveries: number
  /** Unreadable rows, perhaps outside the selection. The lost part of a damaged file counts as one row. */
  readonly unreadable: number
}

/** How a replay ended, or why it did not start. */
export type ReplayOutcome =
  | ({ readonly kind: 'replayed' } & ReplayCounts)
  /** Ended early, because the service is closing or the client has left. */
  | ({ readonly kind: 'ended' } & ReplayCounts)
  /** Ended, or was not started, because a regulation erases from archives. */
  | ({ readonly kind: 'deletion' } & ReplayCounts)
  | { readonly kind: 'running' }
  | {
      readonly kind: 'unknown'
      readonly field: 'source' | 'destination'
      readonly knownIds: readonly string[]
    }
  | { readonly kind: 'no_archive' }

/** Reads and changes audiences and computed traits. */
export interface AudienceOperations extends AudienceReader {
  /** Syncs an audience with a list in CSV, NDJSON or JSON, gzipped or not. Throws if it cannot be read. */
  sync(request: AudienceSyncRequest, list: AsyncIterable<Uint8Array>): Promise<AudienceSyncOutcome>
  remove(request: AudienceRemoveRequest): Promise<AudienceRemoveOutcome>
}

/** The audience to remove, and how to report the removal or end it early. */
export interface AudienceRemoveRequest {
  readonly key: string
  readonly isDryRun: boolean
  readonly listener: SyncListener
  /** Awaited before each batch of changes, so that the listener can apply back pressure. */
  readonly drained?: (() => Promise<void>) | undefined
  /** Ends the removal early. Members already removed stay removed, and the audience stays. */
  readonly signal: AbortSignal
}

/** A request to sync an audience. It has a name, a key or both. */
export interface AudienceSyncRequest extends Omit<AudienceRemoveRequest, 'key'> {
  /** The display name. By default, a new audience is named after its key. */
  readonly name: string | undefined
  /** Made from the name by default. */
  readonly key: string | undefined
  readonly computationClass: ComputationClass
  /** The source whose destinations get the calls. By default, the existing audience's source, or the only source. */
  readonly sourceId: string | undefined
  readonly columns: MemberColumns
}

/** How a sync ended, or why it did not start. */
export type AudienceSyncOutcome = SyncOutcome | AudienceRefusal

/** How a removal ended, or why it did not start. */
export type AudienceRemoveOutcome = RemovalOutcome | AudienceRefusal

/** Reads and creates deletion requests. */
export interface RegulationOperations extends RegulationReader {
  create(request: RegulationRequest): Promise<CreateRegulationOutcome>
}
