import type { Row } from '../importer/index.ts'
import {
  formatTimestamp,
  isJsonObject,
  parseTimestamp,
  webhooksDestinationName,
  type AnalyticsEvent,
  type JsonObject,
} from '../model/index.ts'

/** Serialises an event as a call with the field `archived`: its source and the time it was accepted. */
export function archivedRow(event: AnalyticsEvent): string {
  const { sourceId, receivedAtMs, ...call } = event
  const archived = { sourceId, receivedAt: formatTimestamp(receivedAtMs) }
  // A replay decides anew whether the event is historical.
  return JSON.stringify({ ...call, historical: undefined, archived })
}

/** Turns a row of an archive into the call that a replay sends, to webhook destinations only. */
export function callOfArchivedRow(row: JsonObject): JsonObject {
  if (row['archived'] === undefined) return row
  const call = Object.entries(row).filter(([name]) => name !== 'archived')
  const integrations = { All: false, [webhooksDestinationName]: true }
  return { ...Object.fromEntries(call), integrations }
}

/** The maximum size of a row. It is larger than a call, because the batch and the service add fields. */
export const rowBytesMax: number = 1024 * 1024

/** An event from an archive, or the reason why its row is unreadable. Reasons contain no payload. */
type ArchivedRowReading =
  | { readonly kind: 'event'; readonly row: JsonObject; readonly receivedAtMs: number }
  | { readonly kind: 'unreadable'; readonly reason: string }

/** Reads a row of an archive and the time at which its event was accepted. */
export function readArchivedRow(row: Row): ArchivedRowReading {
  if (row.kind === 'bad') {
    // Cut off the part of the message that quotes the row.
    const reason = row.message.replace(/(?<=not valid JSON): .*$/s, '')
    return { kind: 'unreadable', reason: `line ${row.line}: ${reason}` }
  }
  const receivedAtMs = receivedAtOf(row.value)
  if (receivedAtMs !== undefined) return { kind: 'event', row: row.value, receivedAtMs }
  const reason = `line ${row.line}: The row does not say when it was accepted`
  return { kind: 'unreadable', reason }
}

/** Returns when the event of a row was accepted, in milliseconds since 1970; undefined if the row does not say. */
export function receivedAtOf({ archived }: JsonObject): number | undefined {
  return isJsonObject(archived) ? parseTimestamp(archived['receivedAt']) : undefined
}
