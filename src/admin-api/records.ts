import type { DeliveryListRecord } from '../delivery/index.ts'
import type { DeliveryLedger } from '../model/index.ts'
import type { Problem } from './problems.ts'
import type { DestinationState, EndpointState } from './ports.ts'

/** A page of deliveries. */
export interface DeliveriesRecord extends Readonly<Record<string, unknown>> {
  readonly kind: 'deliveries'
  /** The newest first. */
  readonly deliveries: readonly DeliveryListRecord[]
  /** Turns the page; null on the last one. */
  readonly next: number | null
}

/** How the configured destinations stand. */
export interface DestinationsRecord extends Readonly<Record<string, unknown>> {
  readonly kind: 'destinations'
  readonly destinations: readonly DestinationFields[]
}

/** How a destination stands. */
export interface DestinationFields
  extends Pick<DestinationState, 'id' | 'enabled'>, Readonly<DestinationState['ledger']> {
  readonly sources: readonly string[]
  readonly endpoints: readonly EndpointFields[]
}

/** How an endpoint stands. Moments are UTC, ISO 8601. */
export interface EndpointFields extends Pick<EndpointState, 'url' | 'breaker'> {
  readonly probeAt: string | null
  readonly faults: readonly {
    readonly reason: string
    readonly failures: number
    readonly since: string | null
    readonly last: string | null
  }[]
}

/** How a service stands. */
export interface OverviewRecord extends Readonly<Record<string, unknown>> {
  readonly kind: 'overview'
  /** What is wrong now, the gravest first. */
  readonly problems: readonly Problem[]
  /** The books of the store. */
  readonly ledger: DeliveryLedger
  /** When the delivery that waits longest was due; null where none is, or another process tells of it. */
  readonly oldestDueAt: string | null
  /** From acceptance to an answer 2xx, in milliseconds, of at most 1,000 deliveries of this process. */
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
