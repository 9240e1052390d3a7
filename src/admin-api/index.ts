/** The operator's API: health, metrics, deliveries, destinations, replay, audiences, regulations. */
export { faultAnswer as adminFaultAnswer } from './answer.ts'
export { adminApp, adminConnectionLimits } from './app.ts'
export { healthHandler } from './health.ts'
export { Metrics } from './metrics/metrics.ts'
export {
  queueStates,
  StoreFiguresWatch,
  type QueueState,
  type StoreFigures,
} from './metrics/store-figures.ts'
export type {
  AnswerName,
  AnswerRecord,
  AudienceFields,
  DeliveryFields,
  DeliveryListRecord,
  DestinationFields,
  EndpointFields,
  ListedRegulationFields,
  MemberFields,
  RequestFields,
  SourceFields,
} from './answer-schemas.ts'
export type {
  AdminApiOptions,
  AudienceOperations,
  AudienceRemoveOutcome,
  AudienceRemoveRequest,
  AudienceSyncOutcome,
  AudienceSyncRequest,
  DestinationActions,
  RegulationOperations,
  ReplayCounts,
  ReplayOutcome,
  ReplayRequest,
  SourcesState,
} from './ports.ts'
