import { judge, type RequestOutcome } from '../webhook/index.ts'
import type { CheckCase } from './check-case.ts'

/**
 * The reaction of a handler to a webhook.
 *
 * - `taken`: status 2xx
 * - `refused`: a status after which evroute does not retry, such as 401
 * - `redirected`: status 3xx, which senders do not follow
 * - `failed`: 5xx, 408, 425 or 429, after which a sender retries
 * - `timeout`: no answer in time
 * - `closed`: the connection ended without an answer
 * - `unreachable`: there was no connection
 * - `not_sent`: the check ended before this case
 */
export type Reaction =
  'taken' | 'refused' | 'redirected' | 'failed' | 'timeout' | 'closed' | 'unreachable' | 'not_sent'

/** One webhook of a check, and the handler's reaction. */
export interface CaseVerdict extends Pick<CheckCase, 'id' | 'about' | 'expected' | 'type'> {
  /** How the handler reacted. `failed` makes a sender retry; `closed` is a connection that ended without an answer. */
  readonly reaction: Reaction
  /** Whether the reaction is that of a correct handler. */
  readonly isRight: boolean
  /** The status of the answer; null if there was none. */
  readonly status: number | null
  /** Why there was no answer, such as `timeout` or `ECONNREFUSED`; null if there was one. */
  readonly error: string | null
  /** Time from the request to its answer. */
  readonly durationMs: number
}

/** Judges the outcome of a case. The outcome is undefined if the case was not sent. */
export function verdictOn(
  { id, about, expected, type }: CheckCase,
  outcome: RequestOutcome | undefined,
  durationMs: number,
): CaseVerdict {
  const reaction = outcome === undefined ? 'not_sent' : reactionOf(outcome)
  const { status, error } = outcome === undefined ? unsent : judge(outcome)
  return Object.freeze({
    id,
    about,
    expected,
    type,
    reaction,
    // A redirect counts as a refusal, because senders do not follow it.
    isRight: reaction === expected || (expected === 'refused' && reaction === 'redirected'),
    status,
    error: status === null ? error : null,
    durationMs,
  })
}

const unsent = { status: null, error: null } as const

const closings = new Set([
  'connection_closed',
  'malformed_answer',
  'answer_head_too_large',
  'ECONNRESET',
  'EPIPE',
])

function reactionOf(outcome: RequestOutcome): Reaction {
  switch (outcome.kind) {
    case 'answered':
      return reactionTo(outcome.status)
    case 'timeout':
      return 'timeout'
    case 'connection_failed':
      return closings.has(outcome.code) ? 'closed' : 'unreachable'
    case 'certificate_refused':
    case 'address_refused':
    case 'shortage':
      return 'unreachable'
    case 'interrupted':
      return 'not_sent'
  }
}

function reactionTo(status: number): Reaction {
  if (status >= 300 && status < 400) return 'redirected'
  const { verdict } = judge({ kind: 'answered', status, retryAfter: undefined, excerpt: '' })
  return verdict === 'success' ? 'taken' : verdict === 'retry' ? 'failed' : 'refused'
}
