import type { NumberedSubject } from '../../match/index.ts'
import { isJsonObject, parseTimestamp, type JsonObject, type JsonValue } from '../../model/index.ts'

const verdicts = ['valid', 'invalid', 'missing', 'unchecked'] as const

/** Reads the record of an event, as `listen` writes it; undefined where it is none. */
export function readEventRecord(record: JsonObject): NumberedSubject | undefined {
  const { seq, at, path, bytes, status = null, body } = record
  const atMs = typeof at === 'string' ? parseTimestamp(at) : undefined
  const signature = verdicts.find((verdict) => verdict === record['signature'])
  if (atMs === undefined || signature === undefined || typeof path !== 'string') return undefined
  if (!isCount(seq) || !isCount(bytes) || !(status === null || isCount(status))) return undefined
  return { seq, atMs, path, bytes, status, signature, body: isJsonObject(body) ? body : null }
}

function isCount(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value)
}
