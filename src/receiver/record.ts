import type { IncomingMessage, ServerResponse } from 'node:http'
import type { JsonObject } from '../model/index.ts'
import { statusOf, type Decision } from './answer.ts'
import type { Forwarding } from './forward.ts'
import type { Inspection } from './inspect-request.ts'
import type {
  MalformedContent,
  ReceivedRequest,
  UnnumberedEvent,
  WebhookContent,
} from './received-event.ts'

/** A request, and how it was handled. */
export interface Exchange extends Pick<ReceivedRequest, 'atMs' | 'endpoint'> {
  readonly request: IncomingMessage
  /** Destroyed if the sender closed the connection before the answer was ready. */
  readonly response: ServerResponse
  readonly inspection: Inspection
  readonly decision: Pick<Decision, 'injected' | 'problem'>
  readonly reply: Decision['reply']
  readonly forwarding: Forwarding | null
  readonly answeredAtMs: number
}

/** Makes the event of a request. Its number is added later. */
export function recordOf(exchange: Exchange): UnnumberedEvent {
  const { request, inspection, endpoint, decision, atMs, answeredAtMs } = exchange
  return {
    atMs,
    method: request.method ?? '',
    path: request.url ?? '',
    headers: inspection.headers,
    rawBody: inspection.rawBody,
    bytes: inspection.rawBody.length,
    ...contentOf(inspection),
    signature: inspection.signature.verdict,
    reason: reasonOf(exchange),
    diagnosis: inspection.signature.diagnosis,
    endpoint,
    status: isAbandoned(exchange) ? null : statusOf(exchange.reply),
    injected: decision.injected,
    forward: exchange.forwarding,
    withheld: inspection.withheld,
    durationMs: answeredAtMs - atMs,
  }
}

function contentOf({ content }: Inspection): WebhookContent | MalformedContent {
  if (content.kind === 'malformed') {
    return { kind: content.kind, type: null, userId: null, body: null, code: content.code }
  }
  const { kind, type, body } = content
  return { kind, type, userId: userIdOf(body), body, code: null }
}

function userIdOf(body: JsonObject): string | null {
  const id = body['userId'] ?? body['User ID']
  return typeof id === 'string' || typeof id === 'number' ? String(id) : null
}

function isAbandoned({ inspection: { content }, response }: Exchange): boolean {
  return response.destroyed && !(content.kind === 'malformed' && content.code === 'incomplete_body')
}

function reasonOf(exchange: Exchange): string | null {
  const { inspection, decision } = exchange
  const { signature, content } = inspection
  const reasons = [
    content.kind === 'malformed' ? content.message : null,
    signature.reason,
    decision.problem,
    isAbandoned(exchange) ? 'The sender closed the connection before the answer' : null,
  ].filter((reason) => reason !== null)
  return reasons.length === 0 ? null : reasons.join('. ')
}
