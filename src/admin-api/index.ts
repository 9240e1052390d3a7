/** What the operator asks over HTTP: health, metrics, the delivery log, destinations, replay. */
export { faultAnswer as adminFaultAnswer } from './answer.ts'
export { adminApp } from './app.ts'
export { healthHandler } from './health.ts'
export { Metrics } from './metrics/metrics.ts'
export { queueStates, type QueueState } from './metrics/queue-states.ts'
export type {
  AdminApiOptions,
  DestinationState,
  EndpointState,
  ReplayCounts,
  ReplayOutcome,
  ReplayRequest,
} from './ports.ts'
