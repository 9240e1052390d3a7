import { errorAnswer, jsonAnswer, withHeaders, type HttpAnswer } from '../http/index.ts'
import { formatDuration } from '../model/index.ts'
import {
  isFault,
  readPathDirectives,
  statusOfFault,
  type Fault,
  type GivenAnswer,
  type NextAnswer,
  type PathDirectives,
  type PlannedWebhook,
} from './faults/index.ts'
import type { Malformed, Webhook } from './read-webhook.ts'
import type { RefusalCode } from './received-event.ts'
import type { ReceiverSettings } from './settings.ts'
import type { SignatureJudgement } from './signature.ts'

/** The facts about a request that decide its answer. */
export interface Findings {
  /** The content of the body. */
  readonly content: Webhook | Malformed<RefusalCode>
  /** The verdict on the signature. */
  readonly signature: SignatureJudgement
}

/** A request that is not answered yet. */
export interface Unanswered extends Findings {
  /** The path with its query, as it was sent. */
  readonly path: string
  /** The number of the endpoint that received the request, counting from 1. */
  readonly endpoint: number
}

/** Gives the injected answers and delays of requests whose path asks for none. */
export interface InjectionSource {
  /** Returns the delay of the next answer, in milliseconds. */
  nextDelayMs(): number
  /** Returns the answer to the next well-formed webhook. */
  nextAnswer(webhook: PlannedWebhook): NextAnswer
}

/** The decision about the answer to a request. */
export interface Decision {
  /** The reply. */
  readonly reply:
    | { readonly kind: 'answer'; readonly answer: HttpAnswer }
    | { readonly kind: 'fault'; readonly fault: Fault }
  /** The status to send; null if none is sent. */
  readonly status: number | null
  /** The delay of the reply, in milliseconds. */
  readonly delayMs: number
  /** The injected fault, such as `delay 6s, status 503`; null if there is none. */
  readonly injected: string | null
  /** The error message for an invalid path; null if the path is valid. */
  readonly problem: string | null
}

/**
 * Decides the reply to a request. The first of these that applies wins:
 *
 * 1. 401 for an invalid or missing signature, if the receiver is strict
 * 2. the status for a request that is not a POST, or whose body did not arrive
 * 3. the answer that the path asks for
 * 4. the status for a malformed body
 * 5. 400 for an invalid path
 * 6. the answer of the plan
 *
 * Only well-formed webhooks advance a plan, so that a stray request, such as a health check, does not shift the answers
 * that a test expects.
 */
export function decide(
  request: Unanswered,
  { strict }: Pick<ReceiverSettings, 'strict'>,
  source: InjectionSource,
): Decision {
  const directives = readPathDirectives(request.path)
  const { delayMs: askedDelayMs, answer: asked } = directives
  const usualDelayMs = askedDelayMs ?? source.nextDelayMs()
  const refused = refuse(request, directives, strict)
  const isPlanned = refused === undefined && asked === undefined
  const next = isPlanned ? nextAnswer(request, source) : { answer: asked ?? 200 }
  const delayMs = askedDelayMs ?? next.delayMs ?? usualDelayMs
  const given = refused ?? inject(next.answer)
  const injected = [delayMs > 0 ? `delay ${formatDuration(delayMs)}` : null, given.injected]
  return {
    reply: given.reply,
    status: given.status,
    delayMs,
    injected: injected.filter((part) => part !== null).join(', ') || null,
    problem: directives.problem,
  }
}

/** Makes an answer that reports success. */
export function accepted(status: number): HttpAnswer {
  return jsonAnswer(status, { ok: true })
}

type Given = Pick<Decision, 'reply' | 'status' | 'injected'>

/** Makes the refusal of a request; undefined if the requested or planned answer applies. */
function refuse(
  { content, signature }: Unanswered,
  { problem, answer: asked }: PathDirectives,
  strict: boolean,
): Given | undefined {
  if (strict && signature.reason !== null) {
    return answerWith(errorAnswer(401, `signature_${signature.verdict}`, signature.reason))
  }
  const { kind } = content
  if (kind === 'malformed' && (asked === undefined || notThere.has(content.code))) {
    const { code, message } = content
    const { status = 400, headers = {} } = malformedHeads[code] ?? {}
    return answerWith(withHeaders(errorAnswer(status, code, message), headers))
  }
  return problem === null ? undefined : answerWith(errorAnswer(400, 'invalid_path', problem))
}

/** Codes of requests without a complete body. The answer that the path asks for does not apply to them. */
const notThere: ReadonlySet<RefusalCode> = new Set([
  'body_too_large',
  'body_too_slow',
  'incomplete_body',
  'method_not_allowed',
])

function nextAnswer({ content, endpoint }: Unanswered, source: InjectionSource): NextAnswer {
  if (content.kind !== 'webhook') return { answer: 200 }
  return source.nextAnswer({ type: content.type, endpoint })
}

function inject(given: GivenAnswer): Given {
  if (isFault(given)) {
    return {
      reply: { kind: 'fault', fault: given },
      status: statusOfFault(given),
      injected: given,
    }
  }
  const answer =
    given < 300
      ? accepted(given)
      : errorAnswer(given, 'configured_status', `The receiver is configured to answer ${given}`)
  return { ...answerWith(answer), injected: given === 200 ? null : `status ${given}` }
}

function answerWith(answer: HttpAnswer): Given {
  return { reply: { kind: 'answer', answer }, status: answer.status, injected: null }
}

/** Closes the connection, because the unread rest of a body would look like the next request. */
const close = { connection: 'close' }

/** Status and headers of the answers to malformed requests, where they are not 400 and none. */
const malformedHeads: Partial<Record<RefusalCode, Pick<HttpAnswer, 'status' | 'headers'>>> = {
  body_too_large: { status: 413, headers: close },
  body_too_slow: { status: 408, headers: close },
  method_not_allowed: { status: 405, headers: { allow: 'POST' } },
}
