import { isUtf8 } from 'node:buffer'
import {
  isEventType,
  isJsonObject,
  isRejectionCode,
  parseDuration,
  parseJson,
  type EventType,
  type JsonObject,
  type JsonValue,
  type RejectionCode,
} from '../../model/index.ts'
import type { RejectedRow } from './outlet.ts'

/** A webhook from a capture, to be sent again. */
export interface CapturedRequest {
  readonly type: EventType
  readonly userId: string | null
  readonly messageId: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

type CapturedRow = { readonly kind: 'request'; readonly request: CapturedRequest } | RejectedRow

/** Whether a row is a record of `listen`, of any kind. */
export function isListenRecord({ v, kind }: JsonObject): boolean {
  return v === 1 && typeof kind === 'string'
}

/** Whether a row is the record of a request. */
export function isCapturedRow(row: JsonObject): boolean {
  return isListenRecord(row) && row['kind'] === 'event' && row['rawBase64'] !== undefined
}

/** Returns the call in a row: the body of a captured request, or the row itself. */
export function callIn(row: JsonObject): JsonObject {
  const { body } = row
  return isCapturedRow(row) && isJsonObject(body) ? body : row
}

/** Parses the record of a request. Rejects a request that was not a webhook. */
export function readCapturedRequest(row: JsonObject): CapturedRow {
  const { type, userId, code, reason, headers, rawBase64 } = row
  if (typeof type !== 'string' || !isEventType(type)) {
    const known = typeof code === 'string' && isRejectionCode(code) ? code : 'unknown_type'
    const why = typeof reason === 'string' ? `: ${reason}` : ''
    return rejected(known, `The captured request is not a webhook${why}`)
  }
  if (!isHeaders(headers))
    return rejected('wrong_type', 'The headers of a captured request must be strings')
  const body = readText(rawBase64)
  if (body === undefined) {
    return rejected('wrong_type', 'The rawBase64 of a captured request must be base64')
  }
  const parsed = parseJson(body.replace(/^\ufeff/, ''))
  if (!isJsonObject(parsed)) {
    return rejected('not_an_object', 'The body of the captured request is not a JSON object')
  }
  const { messageId } = parsed
  const request = {
    type,
    userId: typeof userId === 'string' ? userId : null,
    messageId: typeof messageId === 'string' && messageId !== '' ? messageId : null,
    headers,
    body,
  }
  return { kind: 'request', request }
}

function rejected(code: RejectionCode, message: string): RejectedRow {
  return { kind: 'rejected', code, message }
}

function readText(base64: JsonValue | undefined): string | undefined {
  if (typeof base64 !== 'string') return undefined
  const bytes = Buffer.from(base64, 'base64')
  // Buffer decodes invalid base64 to other bytes without an error.
  return bytes.toString('base64') === base64 && isUtf8(bytes) ? bytes.toString('utf8') : undefined
}

/** Printable Latin-1 and tabs. */
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/
const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

function isHeaders(value: JsonValue | undefined): value is Readonly<Record<string, string>> {
  if (!isJsonObject(value)) return false
  return Object.entries(value).every(
    ([name, text]) => headerName.test(name) && typeof text === 'string' && headerValue.test(text),
  )
}

/** How far to move timestamps, in milliseconds. `now` moves the first timestamp to the present. */
export type TimeShiftBy = 'now' | number

/** Parses `now` or a duration with an optional sign; undefined if it is neither. */
export function parseTimeShift(text: string): TimeShiftBy | undefined {
  if (text === 'now') return text
  const durationMs = parseDuration(text.replace(/^[+-]/, ''))
  if (durationMs === undefined) return undefined
  return text.startsWith('-') ? -durationMs : durationMs
}
