import { isUtf8 } from 'node:buffer'
import {
  isEventType,
  isJsonObject,
  isRejectionCode,
  formatTimestamp,
  parseDuration,
  parseJson,
  parseTimestamp,
  type EventType,
  type JsonObject,
  type JsonValue,
  type Rejection,
  type RejectionCode,
} from '../../model/index.ts'
import type { Clock } from '../../runtime/index.ts'

/** A captured webhook. */
export interface CapturedRequest {
  readonly type: EventType
  readonly userId: string | null
  readonly messageId: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

type CapturedRow =
  | { readonly kind: 'request'; readonly request: CapturedRequest }
  | ({ readonly kind: 'rejected' } & Rejection)

/** Whether a row is any record of `listen`, not only that of a request. */
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

function rejected(code: RejectionCode, message: string): CapturedRow {
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

/** How far to move timestamps, in milliseconds. `now` moves the first one to the present. */
export type TimeShiftBy = 'now' | number

/** Parses `now` or a duration with an optional sign; undefined if it is neither. */
export function parseTimeShift(text: string): TimeShiftBy | undefined {
  if (text === 'now') return text
  const durationMs = parseDuration(text.replace(/^[+-]/, ''))
  if (durationMs === undefined) return undefined
  return text.startsWith('-') ? -durationMs : durationMs
}

/** Moves all timestamps by the same amount, so that the intervals between them stay the same. */
export class TimeShift {
  readonly #clock: Clock
  #offsetMs: number | undefined

  constructor(by: TimeShiftBy, clock: Clock) {
    this.#clock = clock
    this.#offsetMs = by === 'now' ? undefined : by
  }

  /** Moves the timestamps in a body, and changes nothing else. */
  apply(text: string): string {
    const times = timesOf(text)
    const first = times.find(({ name }) => name === 'timestamp') ?? times[0]
    if (first === undefined) return text
    this.#offsetMs ??= this.#clock.nowMs() - first.atMs
    let moved = ''
    let end = 0
    for (const time of times) {
      const atMs = Math.min(Math.max(time.atMs + this.#offsetMs, -latestMs), latestMs)
      moved += text.slice(end, time.start) + JSON.stringify(formatTimestamp(atMs))
      end = time.end
    }
    return moved + text.slice(end)
  }
}

/** A timestamp in JSON text. The range from `start` to `end` includes its quotes. */
interface TimeRange {
  readonly name: string
  readonly start: number
  readonly end: number
  readonly atMs: number
}

const timeNames = new Set(['timestamp', 'originalTimestamp', 'sentAt'])

/** A property name with a string value, any other string, or a bracket. */
const token = /("(?:[^"\\]|\\.)*")(?:\s*:\s*("(?:[^"\\]|\\.)*")?)?|[{}[\]]/dgs

/** Finds the timestamps in a JSON object, but not in objects inside it. */
function timesOf(text: string): readonly TimeRange[] {
  const times: TimeRange[] = []
  let depth = 0
  for (const match of text.matchAll(token)) {
    const [found] = match
    if (found === '{' || found === '[') depth++
    if (found === '}' || found === ']') depth--
    const time = depth === 1 ? timeOf(match) : undefined
    if (time !== undefined) times.push(time)
  }
  return times
}

function timeOf({ 1: name, 2: value, indices }: RegExpExecArray): TimeRange | undefined {
  const position = indices?.[2]
  if (name === undefined || value === undefined || position === undefined) return undefined
  const [field, text] = [parseJson(name) as string, parseJson(value) as JsonValue]
  const atMs = timeNames.has(field) ? parseTimestamp(text) : undefined
  return atMs === undefined
    ? undefined
    : { name: field, start: position[0], end: position[1], atMs }
}

/** The latest time that a Date can represent. */
const latestMs = 8_640_000_000_000_000
