import { sampleCall } from '../sample-webhook.ts'

/** The write key of the only source. */
export const writeKey = 'not-a-real-write-key'

/** The paths to post to. */
export type TrackingPath = '/v1/batch' | '/v1/track'

export const eventsPerBatch = 100

/** Events per request. */
export const eventsOf: Readonly<Record<TrackingPath, number>> = {
  '/v1/batch': eventsPerBatch,
  '/v1/track': 1,
}

/** Builds the body of a request like an SDK. The prefix makes its messageIds unique. */
export function bodyOf(path: TrackingPath, prefix: string): string {
  if (path === '/v1/track') return JSON.stringify(sampleCall(prefix))
  const calls = Array.from({ length: eventsPerBatch }, (_, index) =>
    sampleCall(`${prefix}-${index}`),
  )
  return JSON.stringify({ batch: calls, sentAt: '2026-01-02T03:04:06.000Z' })
}
