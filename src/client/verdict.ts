import type { Answer } from '../http/index.ts'
import { isJsonObject, parseJson, parseRetryAfter, type JsonObject } from '../model/index.ts'
import type { RejectedCall, TransportOutcome } from './transport.ts'

/** Server errors that a retry cannot fix: not implemented, and HTTP version not supported. */
const finalServerErrors = new Set([501, 505])
const redirects = new Set([301, 302, 303, 307, 308])
/** What services say when they answer 400 to a batch over their limit. */
const saysTooLarge = /too[ _]large|exceed\w*\b.*\blimit/i
/** How an HTML document begins. */
const webPage = /^\s*<(?:!doctype html|html)\b/i
/** Maximum number of characters that a message quotes from an endpoint's text. */
const textLengthMax = 300

/**
 * Decides what an answer means. Every 2xx is accepted. 408, 429 and every 5xx except 501 and 505 are retried. A
 * 413 means too large, as does a 400 whose body says so. Every other answer is refused, including redirects.
 *
 * A 2xx with an incomplete body is retried, because the missing part may be the list of rejected calls. Calls that the
 * service accepted arrive again, and it deduplicates them by their messageIds.
 *
 * @param nowMs - the current time, for a date in `Retry-After`
 */
export function verdict(answer: Answer, nowMs: number): TransportOutcome {
  const { status } = answer
  // Not every endpoint answers in JSON.
  const parsed = parseJson(answer.text)
  const body = isJsonObject(parsed) ? parsed : undefined
  const isSuccess = status >= 200 && status < 300
  if (isSuccess && answer.isWhole) {
    const isWebPage = webPage.test(answer.text)
    return { kind: 'accepted', rejected: rejectedCalls(body), ...(isWebPage ? { isWebPage } : {}) }
  }
  const message = describe(answer, body)
  if (isSuccess) return { kind: 'retry', reason: `${message}, but its answer was incomplete` }
  if (isTransient(status)) {
    return { kind: 'retry', reason: message, afterMs: parseRetryAfter(answer.retryAfter, nowMs) }
  }
  if (isTooLarge(answer, body)) return { kind: 'too_large', reason: message }
  return { kind: 'refused', code: textOf(body?.['code']) ?? `http_${status}`, message }
}

function isTransient(status: number): boolean {
  return status === 408 || status === 429 || (status >= 500 && !finalServerErrors.has(status))
}

function isTooLarge({ status, text }: Answer, body: JsonObject | undefined): boolean {
  if (status === 413) return true
  if (status !== 400) return false
  const code = textOf(body?.['code'])
  return code === undefined ? saysTooLarge.test(text) : code.endsWith('_too_large')
}

function rejectedCalls(body: JsonObject | undefined): readonly RejectedCall[] {
  const rejected = body?.['rejected']
  if (!Array.isArray(rejected)) return []
  return rejected.filter(isJsonObject).map((entry) => ({
    index: typeof entry['index'] === 'number' ? entry['index'] : undefined,
    messageId: textOf(entry['messageId']),
    code: textOf(entry['code']) ?? 'rejected',
    message: textOf(entry['message']) ?? 'The endpoint rejected this call',
  }))
}

function describe({ status }: Answer, body: JsonObject | undefined): string {
  const advice = redirects.has(status)
    ? 'it redirects; pass the URL that it redirects to'
    : undefined
  const reason = textOf(body?.['message']) ?? textOf(body?.['error']) ?? advice
  return `The endpoint answered ${status}${reason === undefined ? '' : `: ${reason}`}`
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, textLengthMax) : undefined
}
