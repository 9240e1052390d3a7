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
 * An event as one line of an archive, without its end: the fields of a call, so that every reader of calls
 * can read it, and `archived`, which tells it from a call and has the time of acceptance.
 */
export function archivedRow(event: AnalyticsEvent): string {
  const { sourceId, receivedAtMs, ...call } = event
  const archived = { sourceId, receivedAt: formatTimestamp(receivedAtMs) }
  // Whether it was historical is decided anew when it is sent again.
  return JSON.stringify({ ...call, historical: undefined, archived })
}

/**
 * The call of an archive's row for a replay: it goes to webhook destinations only, whatever the original call
 * said. Any other row stays as it is.
 */
export function callOfArchivedRow(row: JsonObject): JsonObject {
  if (row['archived'] === undefined) return row
  const call = Object.entries(row).filter(([name]) => name !== 'archived')
  const integrations = { All: false, [webhooksDestinationName]: true }
  return { ...Object.fromEntries(call), integrations }
}

/** The most bytes of a row: the service and the batch of the call have added to it. */
export const rowBytesMax: number = 1024 * 1024

/** A row of an archive as it was read, or why it is none, without payloads. */
export type ArchivedRowReading =
  | { readonly kind: 'event'; readonly row: JsonObject; readonly receivedAtMs: number }
  | { readonly kind: 'unreadable'; readonly reason: string }

/** Reads when a row of an archive was accepted. */
export function readArchivedRow(row: Row): ArchivedRowReading {
  if (row.kind === 'bad') {
    // Why a row is no JSON is said with a piece of it.
    const reason = row.message.replace(/(?<=not valid JSON): .*$/s, '')
    return { kind: 'unreadable', reason: `line ${row.line}: ${reason}` }
  }
  const receivedAtMs = receivedAtOf(row.value)
  if (receivedAtMs !== undefined) return { kind: 'event', row: row.value, receivedAtMs }
  const reason = `line ${row.line}: The row does not say when it was accepted`
  return { kind: 'unreadable', reason }
}

/** When the event of a row was accepted, in milliseconds since 1970; undefined where it does not say so. */
export function receivedAtOf({ archived }: JsonObject): number | undefined {
  return isJsonObject(archived) ? parseTimestamp(archived['receivedAt']) : undefined
}
