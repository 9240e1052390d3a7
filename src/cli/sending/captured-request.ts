import { isUtf8 } from 'node:buffer'
import {
  isEventType,
  isJsonObject,
  isRejectionCode,
  type EventType,
  type JsonObject,
  type JsonValue,
  type Rejection,
  type RejectionCode,
} from '../../model/index.ts'

/** A webhook as received. */
export interface CapturedRequest {
  readonly type: EventType
  readonly userId: string | null
  readonly messageId: string | null
  readonly headers: Readonly<Record<string, string>>
  /** The body: webhooks are UTF-8 text. */
  readonly body: string
}

/** A parsed row of a capture. */
export type CapturedRow =
  | { readonly kind: 'request'; readonly request: CapturedRequest }
  | ({ readonly kind: 'rejected' } & Rejection)

/** Whether a row is a record of `listen`. A capture also has records that are not requests. */
export function isListenRecord({ v, kind }: JsonObject): boolean {
  return v === 1 && typeof kind === 'string'
}

/** Whether a row is the record of a request. */
export function isCapturedRow(row: JsonObject): boolean {
  return isListenRecord(row) && row['kind'] === 'event' && row['rawBase64'] !== undefined
}

/** Parses the record of a request. Rejects a request that was not a webhook. */
export function readCapturedRequest(row: JsonObject): CapturedRow {
  const { type, userId, code, reason, headers, rawBase64 } = row
  if (typeof type !== 'string' || !isEventType(type)) return noWebhook(code, reason)
  if (!isHeaders(headers))
    return rejected('wrong_type', 'headers of the captured request must be texts')
  const body = readText(rawBase64)
  if (body === undefined) {
    return rejected('wrong_type', 'rawBase64 of the captured request must be text in base64')
  }
  const parsed = parse(body)
  if (!isJsonObject(parsed)) {
    return rejected('not_an_object', 'The body of the captured request is no JSON object')
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

function noWebhook(code: JsonValue | undefined, reason: JsonValue | undefined): CapturedRow {
  const known = typeof code === 'string' && isRejectionCode(code) ? code : 'unknown_type'
  const why = typeof reason === 'string' ? `: ${reason}` : ''
  return rejected(known, `The captured request is no webhook${why}`)
}

function rejected(code: RejectionCode, message: string): CapturedRow {
  return { kind: 'rejected', code, message }
}

function readText(base64: JsonValue | undefined): string | undefined {
  if (typeof base64 !== 'string') return undefined
  const bytes = Buffer.from(base64, 'base64')
  // Buffer decodes invalid base64 to other bytes without an error.
  return bytes.toString('base64') === base64 && isUtf8(bytes) ? bytes.toString('utf8') : undefined
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''))
  } catch {
    return undefined
  }
}

/** Values that a header can carry: printable Latin-1 and tabs. */
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/
const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

function isHeaders(value: JsonValue | undefined): value is Readonly<Record<string, string>> {
  if (!isJsonObject(value)) return false
  return Object.entries(value).every(
    ([name, text]) => headerName.test(name) && typeof text === 'string' && headerValue.test(text),
  )
}
