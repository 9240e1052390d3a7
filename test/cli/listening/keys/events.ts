import type { JsonObject } from '../../../../src/model/index.ts'
import type { ReceivedEvent } from '../../../../src/receiver/index.ts'

/** A well-formed webhook that arrived. */
export function receivedEvent(
  seq: number,
  body: JsonObject & { readonly type: NonNullable<ReceivedEvent['type']> },
): ReceivedEvent {
  const rawBody = Buffer.from(JSON.stringify(body))
  return {
    seq,
    atMs: Date.UTC(2026, 10, 20, 10, 15),
    method: 'POST',
    path: '/hook',
    headers: { 'content-type': 'application/json' },
    rawBody,
    bytes: rawBody.length,
    kind: 'webhook',
    type: body.type,
    userId: 'u_1',
    body,
    code: null,
    signature: 'unchecked',
    reason: null,
    diagnosis: null,
    endpoint: null,
    status: 200,
    injected: null,
    forward: null,
    durationMs: 3,
  }
}
