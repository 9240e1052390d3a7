import type {
  EndpointChange,
  GivenUpDeliveries,
  RequestRecord,
  SettledDelivery,
} from '../model/index.ts'

/** Observes deliveries. Its methods must not throw. */
export interface Observer {
  /** A request ended. If a round ended with it, `nextAtMs` is when the next round is due (milliseconds since 1970). */
  request(record: RequestRecord, nextAtMs?: number): void
  /** A delivery ended. */
  settled(delivery: SettledDelivery): void
  /** The store gave up on deliveries that no process had leased. Optional, because only metrics need it. */
  gaveUp?(deliveries: GivenUpDeliveries): void
  /** The circuit breaker of an endpoint changed its state, or opened again after a failed probe. */
  endpoint(change: EndpointChange): void
}

/** Ignores everything. */
export const silentObserver: Observer = Object.freeze({
  request: () => undefined,
  settled: () => undefined,
  endpoint: () => undefined,
})
