import { formatTimestamp } from '../model/index.ts'
import type { EncodedCall } from './batch.ts'

interface Envelope {
  readonly calls: readonly EncodedCall[]
  /** When the request is sent, in milliseconds since 1970. */
  readonly sentAtMs: number
  readonly writeKey: string
}

/** Writes the body of a batch request around serialised calls. */
export function encodeEnvelope({ calls, sentAtMs, writeKey }: Envelope): string {
  // V8 copies concatenated strings only when the body is written, whereas a join would copy them once more.
  let batch = ''
  for (const { json } of calls) batch += batch === '' ? json : `,${json}`
  const sentAt = formatTimestamp(sentAtMs)
  return `{"batch":[${batch}],"sentAt":"${sentAt}","writeKey":${JSON.stringify(writeKey)}}`
}

/** Counts the UTF-8 bytes of a body, except for its calls and the commas between them. */
export function envelopeBytes(writeKey: string): number {
  return Buffer.byteLength(encodeEnvelope({ calls: [], sentAtMs: 0, writeKey }))
}
