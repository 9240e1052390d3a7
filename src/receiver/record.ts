import type { IncomingMessage, ServerResponse } from 'node:http'
import { statusOf, type Decision } from './answer.ts'
import type { Forwarding } from './forward.ts'
import type { Inspection } from './inspect-request.ts'
import type { ReceivedRequest, UnnumberedEvent } from './received-event.ts'

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
    ...inspection.content,
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

function isAbandoned({ inspection: { content }, response }: Exchange): boolean {
  return response.destroyed && content.code !== 'incomplete_body'
}

function reasonOf(exchange: Exchange): string | null {
  const { inspection, decision } = exchange
  const reasons = [
    inspection.flaw,
    inspection.signature.reason,
    decision.problem,
    isAbandoned(exchange) ? 'The sender closed the connection before the answer' : null,
  ].filter((reason) => reason !== null)
  return reasons.length === 0 ? null : reasons.join('. ')
}
