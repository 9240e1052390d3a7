import { formatTimestamp } from '../model/index.ts'
import type { ReceivedEvent } from './received-event.ts'

/** How forwarding a request ended, for programs. */
export interface ForwardRecord {
  readonly url: string
  readonly status: number | null
  readonly ms: number
  readonly error: string | null
  /** The headers of the answer. */
  readonly headers: Readonly<Record<string, string>>
  /** The first 4 KB of the answer's body. */
  readonly answer: string
}

/** A received request as a record for programs. A file of such records is a capture. */
export type EventRecord = Readonly<Record<string, unknown>> &
  Omit<ReceivedEvent, 'kind' | 'atMs' | 'durationMs' | 'rawBody' | 'forward'> & {
    readonly kind: 'event'
    readonly at: string
    readonly ms: number
    readonly forward: ForwardRecord | null
    readonly rawBase64: string
  }

/** Makes the record of a received request. */
export function eventRecord(event: ReceivedEvent): EventRecord {
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

function forwardRecord({ forward }: ReceivedEvent): ForwardRecord | null {
  if (forward === null) return null
  const { url, status, durationMs, error, headers, answer } = forward
  return { url, status, ms: durationMs, error, headers, answer }
}
