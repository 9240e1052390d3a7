import {
  formatTimestamp,
  webhooksDestinationName,
  type AnalyticsEvent,
  type JsonObject,
} from '../model/index.ts'

/**
 * An event as one line of an archive, without its end: the fields of a call, so that whatever reads
 * calls can read it, and `archived`, which tells it from a call and says when it was accepted.
 */
export function archivedRow(event: AnalyticsEvent): string {
  const { sourceId, receivedAtMs, ...call } = event
  const archived = { sourceId, receivedAt: formatTimestamp(receivedAtMs) }
  // Whether it was historical is decided anew when it is sent again.
  return JSON.stringify({ ...call, historical: undefined, archived })
}

/**
 * The call of a row of an archive that is sent again: to webhook destinations and nowhere else, as a
 * replay is, whatever the call said when it was new. A row of anything else stays as it is.
 */
export function callOfArchivedRow(row: JsonObject): JsonObject {
  if (row['archived'] === undefined) return row
  const call = Object.entries(row).filter(([name]) => name !== 'archived')
  const integrations = { All: false, [webhooksDestinationName]: true }
  return { ...Object.fromEntries(call), integrations }
}
