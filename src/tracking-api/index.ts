/** The tracking API for clients of Segment's protocol: authenticate, read, accept, answer. */
export { faultAnswer as trackingFaultAnswer } from './answer.ts'
export { closedTrackingPort, trackingApp } from './app.ts'
export type {
  CountedCalls,
  RefusedRequest,
  SourceType,
  TrackingApiOptions,
  TrackingObserver,
} from './ports.ts'
export { SourceDirectory } from './source-directory.ts'
