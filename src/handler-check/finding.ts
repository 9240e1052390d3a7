/**
 * The mistakes of a handler.
 *
 * - `unreachable`, `crashed`: it cannot be reached at all, or no longer after some case
 * - `not_found`, `method_refused`, `media_type_refused`, `redirects`: the URL is wrong, or refuses requests like
 *   these
 * - `does_not_verify`, `checks_presence_only`, `takes_unsigned`, `verifies_some_types`: it accepts forged webhooks
 * - `re_serialised`, `line_break_lost`, `line_ends_changed`, `charset`: it does not verify the bytes that arrive
 * - `wrong_secret`, `wrong_header`, `wrong_signature`: it accepts no valid signature
 * - `part_compared`, `form_ignored`, `takes_forged`: it compares signatures loosely
 * - `types_refused`, `repeats_refused`, `body_limit`, `too_slow`, `fails`, `refuses_right`: it refuses or fails on
 *   valid webhooks
 * - `throws`, `hangs`, `hangs_up`: it does not answer invalid webhooks with a refusal
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
  | 'wrong_header'
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
  /** The stable name of the mistake. */
  readonly code: FindingCode
  /** The mistake, as a sentence. */
  readonly message: string
  /** What to do about it, as sentences. */
  readonly fix: string
  /** The ids of the cases that show it. */
  readonly cases: readonly string[]
}
