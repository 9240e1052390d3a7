/**
 * What is wrong with a handler.
 *
 * - `unreachable`, `crashed`: it cannot be reached, or not any more
 * - `not_found`, `method_refused`, `media_type_refused`, `redirects`: it is not at this URL, or takes no such request
 * - `does_not_verify`, `checks_presence_only`, `takes_unsigned`, `verifies_some_types`: it takes forged webhooks
 * - `re_serialised`, `line_break_lost`, `line_ends_changed`, `charset`: it verifies other bytes than those that arrive
 * - `wrong_secret`, `wrong_signature`: no right signature passes
 * - `part_compared`, `form_ignored`, `takes_forged`: it compares signatures loosely
 * - `types_refused`, `repeats_refused`, `body_limit`, `too_slow`, `fails`, `refuses_right`: it loses right webhooks
 * - `throws`, `hangs`, `hangs_up`: it does not answer wrong webhooks with a refusal
 */
export type FindingCode =
  | 'unreachable'
  | 'crashed'
  | 'not_found'
  | 'method_refused'
  | 'media_type_refused'
  | 'redirects'
  | 'does_not_verify'
  | 'checks_presence_only'
  | 'takes_unsigned'
  | 'verifies_some_types'
  | 're_serialised'
  | 'line_break_lost'
  | 'line_ends_changed'
  | 'charset'
  | 'wrong_secret'
  | 'wrong_signature'
  | 'part_compared'
  | 'form_ignored'
  | 'takes_forged'
  | 'types_refused'
  | 'repeats_refused'
  | 'body_limit'
  | 'too_slow'
  | 'fails'
  | 'refuses_right'
  | 'throws'
  | 'hangs'
  | 'hangs_up'

/** One mistake of a handler, and the cases that show it. */
export interface HandlerFinding {
  /** Its stable name. */
  readonly code: FindingCode
  /** The mistake, as a sentence. */
  readonly message: string
  /** What to do about it, as sentences. */
  readonly fix: string
  /** The ids of the cases that show it. */
  readonly cases: readonly string[]
}
