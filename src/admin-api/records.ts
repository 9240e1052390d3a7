import type { AudienceFields, MemberFields } from '../audience/index.ts'
import type { DeliveryListRecord } from '../delivery/index.ts'
import type { DeliveryLedger, RejectionCode } from '../model/index.ts'
import type { SourceCounts } from './metrics/source-activity.ts'
import type { ListedRegulationFields } from '../privacy/index.ts'
import type { Problem } from './problems.ts'
import type { DestinationState, EndpointState } from './ports.ts'

/** A page of deliveries, with the cursor of the next one. */
export interface DeliveriesRecord extends Readonly<Record<string, unknown>> {
  readonly kind: 'deliveries'
  /** The newest first. */
  readonly deliveries: readonly DeliveryListRecord[]
  /** The cursor of the next page; null on the last page. */
  readonly next: number | null
}

/** The configured destinations and their states. */
export interface DestinationsRecord extends Readonly<Record<string, unknown>> {
  readonly kind: 'destinations'
  readonly destinations: readonly DestinationFields[]
}

/** A destination with its sources, endpoints and counts. */
export interface DestinationFields
  extends Pick<DestinationState, 'id' | 'enabled'>, Readonly<DestinationState['ledger']> {
  readonly sources: readonly string[]
  /** The match expression that selects its calls; left out for all calls. */
  readonly filter?: string
  readonly endpoints: readonly EndpointFields[]
}

/** An endpoint and its state. Times are UTC, ISO 8601. */
export interface EndpointFields extends Pick<EndpointState, 'url' | 'breaker' | 'rate'> {
  readonly probeAt: string | null
  readonly faults: readonly {
    readonly reason: string
    readonly failures: number
    readonly since: string | null
    readonly last: string | null
  }[]
}

/** The configured sources, and the URL that they send to. */
export interface SourcesRecord extends Readonly<Record<string, unknown>> {
  readonly kind: 'sources'
  readonly url: string
  readonly sources: readonly SourceFields[]
}

/** A source, and the outcomes of its calls since this process started. */
export interface SourceFields extends Readonly<Record<string, unknown>> {
  readonly id: string
  readonly enabled: boolean
  readonly writeKeys: readonly string[]
  readonly destinations: readonly string[]
  readonly archived: boolean
  /** Accepted calls by outcome. */
  readonly accepted: SourceCounts['accepted']
  /** Rejected calls by code. */
  readonly rejected: SourceCounts['rejected']
  /** The last rejected calls, at most 20, the latest first. */
  readonly latestRejected: readonly {
    readonly at: string | null
    readonly messageId: string | null
    readonly code: RejectionCode
    readonly message: string
  }[]
}

/** The audiences and computed traits. */
export interface AudiencesRecord extends Readonly<Record<string, unknown>> {
  readonly kind: 'audiences'
  readonly audiences: readonly AudienceFields[]
}

/** An audience with a page of its members. */
export interface AudienceMembersRecord extends AudienceFields {
  readonly memberList: readonly MemberFields[]
  /** The cursor of the next page; null on the last page. */
  readonly next: string | null
}

/** A page of deletion requests. */
export interface RegulationsRecord extends Readonly<Record<string, unknown>> {
  readonly kind: 'regulations'
  /** The newest first. */
  readonly regulations: readonly ListedRegulationFields[]
  /** The cursor of the next page; null on the last page. */
  readonly next: string | null
}

/** The state of a service. */
export interface OverviewRecord extends Readonly<Record<string, unknown>> {
  readonly kind: 'overview'
  /** The current problems, most severe first. */
  readonly problems: readonly Problem[]
  readonly ledger: DeliveryLedger
  /**
   * The earliest due time of pending deliveries that are not in flight. Null if there are none, or if a different
   * process measures the store.
   */
  readonly oldestDueAt: string | null
  /** Milliseconds from acceptance to a 2xx answer, over the last 1,000 deliveries of this process. */
  readonly latency: {
    readonly deliveries: number
    readonly p50: number | null
    readonly p99: number | null
  }
  /** What this process did in the last hour, the oldest minute first. */
  readonly minutes: readonly {
    readonly at: string | null
    readonly accepted: number
    readonly delivered: number
    readonly failed: number
  }[]
}
