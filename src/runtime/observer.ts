import type {
  EndpointChange,
  GivenUpDeliveries,
  RequestRecord,
  SettledDelivery,
} from '../model/index.ts'

/** Observes deliveries. It must not throw. */
export interface Observer {
  /** A request ended. */
  request(record: RequestRecord): void
  /** A delivery ended. */
  settled(delivery: SettledDelivery): void
  /** The store ended deliveries that no process held. Metrics need it, single runs do not. */
  gaveUp?(deliveries: GivenUpDeliveries): void
  /** The circuit breaker of an endpoint opened, opened again after a probe, or closed. */
  endpoint(change: EndpointChange): void
}

/** Ignores everything. */
export const silentObserver: Observer = Object.freeze({
  request: () => undefined,
  settled: () => undefined,
  endpoint: () => undefined,
})
