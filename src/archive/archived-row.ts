import type { Row } from '../importer/index.ts'
import {
  formatTimestamp,
  isJsonObject,
  parseTimestamp,
  webhooksDestinationName,
  type AnalyticsEvent,
  type JsonObject,
} from '../model/index.ts'

/** Serialises an event as a call, with its source and time of acceptance in the field `archived`. */
export function archivedRow(event: AnalyticsEvent): string {
  const { sourceId, receivedAtMs, ...call } = event
  const archived = { sourceId, receivedAt: formatTimestamp(receivedAtMs) }
  // A replay decides again whether the event is historical.
  return JSON.stringify({ ...call, historical: undefined, archived })
}

/** Turns a row of an archive into a call that is routed only to webhook destinations. Returns other rows unchanged. */
export function callOfArchivedRow(row: JsonObject): JsonObject {
  if (row['archived'] === undefined) return row
  const call = Object.entries(row).filter(([name]) => name !== 'archived')
  const integrations = { All: false, [webhooksDestinationName]: true }
  return { ...Object.fromEntries(call), integrations }
}

/** Maximum size of a row. Rows may be larger than calls, because the batch and the service add fields. */
export const rowBytesMax: number = 1024 * 1024

/** An event from an archive, or why its row is unreadable, without quoting it. */
type ArchivedRowReading =
  | { readonly kind: 'event'; readonly row: JsonObject; readonly receivedAtMs: number }
  | { readonly kind: 'unreadable'; readonly reason: string }

/** Reads a row of an archive and the time at which its event was accepted. */
export function readArchivedRow(row: Row): ArchivedRowReading {
  if (row.kind === 'bad') {
    // Cut off what the message quotes from the row.
    const reason = row.message.replace(/(?<=not valid JSON): .*$/s, '')
    return { kind: 'unreadable', reason: `line ${row.line}: ${reason}` }
  }
  const receivedAtMs = receivedAtOf(row.value)
  if (receivedAtMs !== undefined) return { kind: 'event', row: row.value, receivedAtMs }
  const reason = `line ${row.line}: The row does not say when it was accepted`
  return { kind: 'unreadable', reason }
}

/** Returns when a row's event was accepted, in milliseconds since 1970; undefined if the row does not say. */
export function receivedAtOf({ archived }: JsonObject): number | undefined {
  return isJsonObject(archived) ? parseTimestamp(archived['receivedAt']) : undefined
}
