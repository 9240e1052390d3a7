/** What the operator asks over HTTP: health, metrics, the delivery log, destinations, replay. */
export { adminApp } from './app.ts'
export { healthHandler, type HealthHandler } from './health.ts'
export type { EndpointNames } from './metrics/breaker-board.ts'
export { Metrics, type MetricsOptions } from './metrics/metrics.ts'
export { queueStates, type QueueState } from './metrics/queue-states.ts'
export type {
  AdminApiOptions,
  DestinationState,
  EndpointState,
  Readiness,
  ReplayRequest,
  ReplayResult,
} from './ports.ts'
