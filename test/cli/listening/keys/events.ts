import type { JsonObject } from '../../../../src/model/index.ts'
import type {
  ReceivedEvent,
  ReceivedRequest,
  WebhookContent,
} from '../../../../src/receiver/index.ts'

/** A well-formed webhook that arrived. */
export function receivedEvent(
  seq: number,
  body: JsonObject & Pick<WebhookContent, 'type'>,
  changes: Partial<ReceivedRequest> = {},
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
    userId: typeof body['userId'] === 'string' ? body['userId'] : null,
    body,
    code: null,
    signature: 'unchecked',
    reason: null,
    diagnosis: null,
    endpoint: null,
    status: 200,
    injected: null,
    withheld: null,
    forward: null,
    durationMs: 3,
    ...changes,
  }
}
