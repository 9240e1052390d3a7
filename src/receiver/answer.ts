import type { JsonObject } from '../model/index.ts'
import type { Malformed, Webhook } from './read-webhook.ts'
import type { RefusalCode } from './received-event.ts'
import type { ReceiverSettings } from './settings.ts'
import type { SignatureJudgement } from './signature.ts'

/** What a request is answered. */
export interface Answer {
  /** The HTTP status. */
  readonly status: number
  /** The JSON body. */
  readonly body: JsonObject
  /** Headers beside its content type. */
  readonly headers: Readonly<Record<string, string>>
}

/** What is known of a request when its answer is decided. */
export interface Findings {
  /** What it carried. */
  readonly content: Webhook | Malformed<RefusalCode>
  /** Whether its signature is right. */
  readonly signature: SignatureJudgement
}

/**
 * Decides the answer: 401 for a bad signature where the receiver is strict, else the status of what
 * is malformed, else the status that is set.
 */
export function decideAnswer(
  { content, signature }: Findings,
  { strict, status }: Pick<ReceiverSettings, 'strict' | 'status'>,
): Answer {
  if (strict && signature.reason !== null) {
    return refusal(401, `signature_${signature.verdict}`, signature.reason)
  }
  if (content.kind === 'malformed') {
    return { ...refusal(400, content.code, content.message), ...malformedHead(content.code) }
  }
  return status < 300
    ? accepted(status)
    : refusal(status, 'configured_status', `The receiver is set to answer ${status}`)
}

/** An answer that says that all is well. */
export function accepted(status: number): Answer {
  return { status, body: { ok: true }, headers: {} }
}

/** An answer that says why a request was not taken. */
export function refusal(status: number, code: string, message: string): Answer {
  return { status, body: { error: { code, message } }, headers: {} }
}

/** Where 400 alone would not do. */
function malformedHead(code: RefusalCode): Partial<Answer> {
  // What is left of a body that was not read to its end cannot be told from a next request.
  const close = { connection: 'close' }
  if (code === 'body_too_large') return { status: 413, headers: close }
  if (code === 'body_too_slow') return { status: 408, headers: close }
  if (code === 'method_not_allowed') return { status: 405, headers: { allow: 'POST' } }
  return {}
}
