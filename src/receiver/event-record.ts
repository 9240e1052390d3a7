import { signatureVerdicts } from '../match/index.ts'
import {
  formatTimestamp,
  isEventType,
  isJsonObject,
  parseTimestamp,
  type JsonObject,
  type JsonValue,
} from '../model/index.ts'
import type { Diagnosis } from './diagnosis/index.ts'
import type { Forwarding } from './forward.ts'
import type { ReceivedEvent, ReceivedRequest, RefusalCode } from './received-event.ts'

/** A received request as a record for programs. A file of such records is a capture. */
export type EventRecord = ReturnType<typeof eventRecord>

/** Makes the record of a received request. The order of the fields is part of the format. */
export function eventRecord(event: ReceivedEvent) {
  return {
    kind: 'event' as const,
    seq: event.seq,
    at: formatTimestamp(event.atMs),
    type: event.type,
    userId: event.userId,
    method: event.method,
    path: event.path,
    signature: event.signature,
    reason: event.reason,
    diagnosis: event.diagnosis,
    code: event.code,
    endpoint: event.endpoint,
    status: event.status,
    injected: event.injected,
    forward: forwardRecord(event),
    withheld: event.withheld,
    ms: event.durationMs,
    bytes: event.bytes,
    headers: event.headers,
    body: event.body,
    rawBase64: event.rawBody.toString('base64'),
  } satisfies Readonly<Record<string, unknown>>
}

function forwardRecord({ forward }: ReceivedEvent) {
  if (forward === null) return null
  const { url, status, durationMs, error, headers, answer } = forward
  return { url, status, ms: durationMs, error, headers, answer }
}

const withheldReasons = ['foreign_origin', 'signature_not_valid'] as const

/** Reads an event from its record; undefined for any other record. Accepts records of earlier versions. */
export function readEventRecord(record: JsonObject): ReceivedEvent | undefined {
  const { seq, type, userId, path, bytes, status = null, body, code } = record
  const atMs = parseTimestamp(textOr('', record['at']))
  const signature = signatureVerdicts.find((verdict) => verdict === record['signature'])
  if (atMs === undefined || signature === undefined || typeof path !== 'string') return undefined
  if (!isCount(seq) || !isCount(bytes) || !(status === null || isCount(status))) return undefined
  const request = { seq, atMs, path, bytes, status, signature, ...readOthers(record) }
  if (typeof type === 'string' && isEventType(type) && isJsonObject(body)) {
    return { ...request, kind: 'webhook', type, userId: textOr(null, userId), body, code: null }
  }
  const refusalCode = textOr('invalid_json', code) as RefusalCode
  return { ...request, kind: 'malformed', type: null, userId: null, body: null, code: refusalCode }
}

/** Reads the fields that earlier versions did not write. A missing one gets an empty value. */
function readOthers(
  record: JsonObject,
): Omit<ReceivedRequest, 'atMs' | 'path' | 'bytes' | 'status' | 'signature'> {
  return {
    method: textOr('POST', record['method']),
    headers: readTexts(record['headers']),
    rawBody: Buffer.from(textOr('', record['rawBase64']), 'base64'),
    reason: textOr(null, record['reason']),
    diagnosis: readDiagnosis(record['diagnosis']),
    endpoint: isCount(record['endpoint']) ? record['endpoint'] : null,
    injected: textOr(null, record['injected']),
    forward: readForwarding(record['forward']),
    withheld: withheldReasons.find((reason) => reason === record['withheld']) ?? null,
    durationMs: isCount(record['ms']) ? record['ms'] : 0,
  }
}

function readDiagnosis(value: JsonValue | undefined): Diagnosis | null {
  if (!isJsonObject(value)) return null
  const { mistake, message, fix } = value
  return { mistake: textOr('', mistake), message: textOr('', message), fix: textOr('', fix) }
}

function readForwarding(value: JsonValue | undefined): Forwarding | null {
  if (!isJsonObject(value)) return null
  const { url, status, ms, error, headers, answer } = value
  return {
    url: textOr('', url),
    status: isCount(status) ? status : null,
    durationMs: isCount(ms) ? ms : 0,
    error: textOr(null, error),
    headers: readTexts(headers),
    answer: textOr('', answer),
  }
}

function readTexts(value: JsonValue | undefined): Readonly<Record<string, string>> {
  const entries = isJsonObject(value) ? Object.entries(value) : []
  return Object.fromEntries(entries.map(([name, text]) => [name, textOr('', text)]))
}

function textOr<Other>(other: Other, value: JsonValue | undefined): string | Other {
  return typeof value === 'string' ? value : other
}

function isCount(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value)
}
