import { sampleCall } from '../sample-webhook.ts'

/** What the source is known by. */
export const writeKey = 'not-a-real-write-key'

/** The paths that are posted to. */
export type TrackingPath = '/v1/batch' | '/v1/track'

/** Events in each request of `/v1/batch`. */
export const eventsPerBatch = 100

/** Events in a request. */
export const eventsOf: Readonly<Record<TrackingPath, number>> = {
  '/v1/batch': eventsPerBatch,
  '/v1/track': 1,
}

/** Makes the body of a request as an SDK does; the prefix sets its messageIds apart. */
export function bodyOf(path: TrackingPath, prefix: string): string {
  if (path === '/v1/track') return JSON.stringify(sampleCall(prefix))
  const calls = Array.from({ length: eventsPerBatch }, (_, index) =>
    sampleCall(`${prefix}-${index}`),
  )
  return JSON.stringify({ batch: calls, sentAt: '2026-01-02T03:04:06.000Z' })
}
