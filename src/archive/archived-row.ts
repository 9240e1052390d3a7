import type { Row } from '../importer/index.ts'
import {
  formatTimestamp,
  isJsonObject,
  parseTimestamp,
  webhooksDestinationName,
  type AnalyticsEvent,
  type JsonObject,
} from '../model/index.ts'

/**
 * Returns an event as a line of an archive, without its line feed: the fields of a call, so that every reader
 * of calls can read it, and `archived`, which marks it as archived and has the time of acceptance.
 */
export function archivedRow(event: AnalyticsEvent): string {
  const { sourceId, receivedAtMs, ...call } = event
  const archived = { sourceId, receivedAt: formatTimestamp(receivedAtMs) }
  // A replay decides again whether the event is historical.
  return JSON.stringify({ ...call, historical: undefined, archived })
}

/**
 * Turns a row of an archive into a call for a replay, which goes to webhook destinations only, whatever the
 * original call said. Any other row stays as it is.
 */
export function callOfArchivedRow(row: JsonObject): JsonObject {
  if (row['archived'] === undefined) return row
  const call = Object.entries(row).filter(([name]) => name !== 'archived')
  const integrations = { All: false, [webhooksDestinationName]: true }
  return { ...Object.fromEntries(call), integrations }
}

/** The maximum size of a row, to which the service and the batch of the call added fields. */
export const rowBytesMax: number = 1024 * 1024

/** A row of an archive, or why it cannot be read, without payloads. */
export type ArchivedRowReading =
  | { readonly kind: 'event'; readonly row: JsonObject; readonly receivedAtMs: number }
  | { readonly kind: 'unreadable'; readonly reason: string }

/** Reads a row of an archive, and when it was accepted. */
export function readArchivedRow(row: Row): ArchivedRowReading {
  if (row.kind === 'bad') {
    // The message about invalid JSON quotes a piece of the row.
    const reason = row.message.replace(/(?<=not valid JSON): .*$/s, '')
    return { kind: 'unreadable', reason: `line ${row.line}: ${reason}` }
  }
  const receivedAtMs = receivedAtOf(row.value)
  if (receivedAtMs !== undefined) return { kind: 'event', row: row.value, receivedAtMs }
  const reason = `line ${row.line}: The row does not say when it was accepted`
  return { kind: 'unreadable', reason }
}

/**
 * Returns when the event of a row was accepted, in milliseconds since 1970; undefined if the row does not
 * say.
 */
export function receivedAtOf({ archived }: JsonObject): number | undefined {
  return isJsonObject(archived) ? parseTimestamp(archived['receivedAt']) : undefined
}
