/** What clients of Segment's protocol post to: authenticate, read, take in, answer. */
export type { RefusalCode } from './answer.ts'
export { trackingApp } from './app.ts'
export type {
  CountedCalls,
  RefusedRequest,
  TrackingApiOptions,
  TrackingObserver,
  TrackingSource,
} from './ports.ts'
export { SourceDirectory, type KeyedSource } from './source-directory.ts'
