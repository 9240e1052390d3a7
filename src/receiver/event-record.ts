import { formatTimestamp } from '../model/index.ts'
import type { ReceivedEvent } from './received-event.ts'

/** A received request as a record for programs; a file of them is a capture. */
export function eventRecord(event: ReceivedEvent): Readonly<Record<string, unknown>> {
  return {
    kind: 'event',
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
  }
}

function forwardRecord({ forward }: ReceivedEvent): Readonly<Record<string, unknown>> | null {
  if (forward === null) return null
  const { url, status, durationMs, error } = forward
  return { url, status, ms: durationMs, error }
}
