import type {
  EndpointChange,
  GivenUpDeliveries,
  RequestRecord,
  SettledDelivery,
} from '../model/index.ts'

/** Observes deliveries. Its methods must not throw. */
export interface Observer {
  /** A request ended. `nextAtMs`: the round ended with it, and the next one is due then, in milliseconds since 1970. */
  request(record: RequestRecord, nextAtMs?: number): void
  /** A delivery ended. */
  settled(delivery: SettledDelivery): void
  /** The store gave up deliveries that no process had leased. Optional, because only metrics need it. */
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
