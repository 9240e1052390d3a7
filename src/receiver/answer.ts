import { errorAnswer, jsonAnswer, withHeaders, type HttpAnswer } from '../http/index.ts'
import { formatDuration } from '../model/index.ts'
import {
  faultStatuses,
  isFault,
  readPathDirectives,
  type Fault,
  type GivenAnswer,
  type Injections,
  type NextAnswer,
  type PathDirectives,
  type PlannedWebhook,
} from './faults/index.ts'
import type { Reading } from './read-webhook.ts'
import type { RefusalCode } from './received-event.ts'
import type { ReceiverSettings } from './settings.ts'
import type { SignatureJudgement } from './signature.ts'

/** The facts about a request that decide its answer. */
export interface Unanswered extends Reading, Pick<PlannedWebhook, 'endpoint'> {
  readonly signature: SignatureJudgement
  readonly path: string
}

/** How to answer a request. */
export interface Decision extends Pick<PathDirectives, 'problem'> {
  readonly reply: HttpAnswer | Fault
  readonly delayMs: number
  /** The injected fault, such as `delay 6s, status 503`; null if there is none. */
  readonly injected: string | null
}

/**
 * Decides the reply to a request. The first rule that applies wins:
 *
 * 1. 401 for an invalid or missing signature, if the receiver is strict
 * 2. an error status for a request that is not a POST, or whose body did not arrive
 * 3. the answer that the path asks for
 * 4. an error status for a malformed body
 * 5. 400 for an invalid path
 * 6. the answer of the plan
 *
 * Only well-formed webhooks advance a plan, so that other requests, such as a health check, don't use up the answers
 * that a test expects.
 */
export function decide(
  request: Unanswered,
  { strict }: Pick<ReceiverSettings, 'strict'>,
  source: Pick<Injections, 'nextDelayMs' | 'nextAnswer'>,
): Decision {
  const directives = readPathDirectives(request.path)
  const { delayMs: requestedDelayMs, answer: requested } = directives
  const usualDelayMs = requestedDelayMs ?? source.nextDelayMs()
  const refused = refuse(request, directives, strict)
  const { content, endpoint } = request
  const isPlanned = refused === undefined && requested === undefined && content.kind === 'webhook'
  const next: NextAnswer = isPlanned
    ? source.nextAnswer({ type: content.type, endpoint })
    : { answer: requested ?? 200 }
  const delayMs = requestedDelayMs ?? next.delayMs ?? usualDelayMs
  const given = refused === undefined ? planned(next.answer) : { reply: refused, injected: null }
  const injected = [delayMs > 0 ? `delay ${formatDuration(delayMs)}` : null, given.injected]
  return {
    reply: given.reply,
    delayMs,
    injected: injected.filter((part) => part !== null).join(', ') || null,
    problem: directives.problem,
  }
}

/** Returns the status that a reply sends; null if it sends none. */
export function statusOf(reply: Decision['reply']): number | null {
  return typeof reply === 'string' ? faultStatuses[reply] : reply.status
}

/** Makes an answer that reports success. */
export function accepted(status: number): HttpAnswer {
  return jsonAnswer(status, { ok: true })
}

/** Returns the error answer to a request; undefined if the path or the plan decides the answer. */
function refuse(
  { content: { code }, flaw, signature }: Unanswered,
  { problem, answer: requested }: PathDirectives,
  strict: boolean,
): HttpAnswer | undefined {
  if (strict && signature.reason !== null) {
    return errorAnswer(401, `signature_${signature.verdict}`, signature.reason)
  }
  if (code !== null && (requested === undefined || unreadCodes.has(code))) {
    const { status = 400, headers = {} } = malformedHeads[code] ?? {}
    return withHeaders(errorAnswer(status, code, flaw ?? ''), headers)
  }
  return problem === null ? undefined : errorAnswer(400, 'invalid_path', problem)
}

/** A request with one of these codes was not read completely. It gets an error even if its path asks for an answer. */
const unreadCodes: ReadonlySet<RefusalCode> = new Set([
  'body_too_large',
  'body_too_slow',
  'incomplete_body',
  'method_not_allowed',
])

function planned(given: GivenAnswer): Pick<Decision, 'reply' | 'injected'> {
  if (isFault(given)) return { reply: given, injected: given }
  if (given === 200) return { reply: accepted(200), injected: null }
  const message = `The receiver is configured to answer ${given}`
  const reply = given < 300 ? accepted(given) : errorAnswer(given, 'configured_status', message)
  return { reply, injected: `status ${given}` }
}

/** Closes the connection, because the unread rest of a body would look like the next request. */
const close = { connection: 'close' }

/** Status and headers of the error for a malformed request. A code that is not listed gets 400 and no headers. */
const malformedHeads: Partial<Record<RefusalCode, Pick<HttpAnswer, 'status' | 'headers'>>> = {
  body_too_large: { status: 413, headers: close },
  body_too_slow: { status: 408, headers: close },
  method_not_allowed: { status: 405, headers: { allow: 'POST' } },
}
