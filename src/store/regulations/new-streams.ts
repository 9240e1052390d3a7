import type { NewEvent } from '../../delivery/index.ts'
import type { NotificationStream } from '../../privacy/index.ts'

/** The streams of new notifications: one for each source and destination. */
export function newStreams(notifications: readonly NewEvent[]): readonly NotificationStream[] {
  const streams = new Map<string, NotificationStream>()
  for (const { sourceId, deliveries } of notifications) {
    for (const { destinationId } of deliveries) {
      const key = JSON.stringify([sourceId, destinationId])
      const pending = (streams.get(key)?.pending ?? 0) + 1
      const others = { delivered: 0, failed: 0, expired: 0 }
      streams.set(key, { sourceId, destinationId, pending, ...others })
    }
  }
  return [...streams.values()]
}
