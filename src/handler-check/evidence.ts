import type { CaseVerdict, Reaction } from './verdict.ts'

/**
 * The mistakes of a handler.
 *
 * - `unreachable`, `crashed`: it cannot be reached, or can no longer be reached after a case
 * - `not_found`, `method_refused`, `media_type_refused`, `redirects`: the URL is wrong, or does not accept webhooks
 * - `does_not_verify`, `checks_presence_only`, `takes_unsigned`, `takes_malformed`, `verifies_some_types`: it accepts forged
 *   webhooks
 * - `re_serialised`, `line_break_lost`, `line_ends_changed`, `charset`, `chunks_decoded`, `part_verified`: it does not
 *   verify the bytes that arrive
 * - `wrong_secret`, `wrong_header`, `wrong_signature`: it accepts no valid signature
 * - `part_compared`, `form_ignored`, `takes_forged`: it compares signatures loosely
 * - `types_refused`, `repeats_refused`, `body_limit`, `too_slow`, `fails`, `refuses_right`: it does not accept valid
 *   webhooks
 * - `parses_first`, `throws`, `hangs`, `hangs_up`: it does not answer invalid webhooks with a refusal
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
  | 'takes_malformed'
  | 'verifies_some_types'
  | 're_serialised'
  | 'line_break_lost'
  | 'line_ends_changed'
  | 'charset'
  | 'chunks_decoded'
  | 'part_verified'
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
  | 'parses_first'
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
  /** The ids of the cases that show the mistake. */
  readonly cases: readonly string[]
}

/** A {@link HandlerFinding} without its cases. */
export type MistakeText = readonly [code: FindingCode, message: string, fix: string]

/** A finding, and a test for the cases that it explains. */
export type Explanation = readonly [
  matches: (verdict: CaseVerdict, evidence: Evidence) => boolean,
  ...text: MistakeText,
]

/** The verdicts of a check. Keeps track of the wrong cases that no finding explains yet. */
export class Evidence {
  readonly verdicts: readonly CaseVerdict[]
  /** The verdicts on the cases that were sent. Findings name only these. */
  readonly sent: readonly CaseVerdict[]
  readonly #unexplained: Set<CaseVerdict>

  constructor(verdicts: readonly CaseVerdict[]) {
    this.verdicts = verdicts
    this.sent = verdicts.filter(({ reaction }) => reaction !== 'not_sent')
    this.#unexplained = new Set(this.sent.filter(({ isRight }) => !isRight))
  }

  /** Whether a case had the given reaction, or any right or wrong one. False if the case was not sent. */
  had(id: string, reaction: Reaction | 'right' | 'wrong'): boolean {
    return this.sent.some(
      (verdict) =>
        verdict.id === id &&
        [verdict.reaction, verdict.isRight ? 'right' : 'wrong'].includes(reaction),
    )
  }

  /**
   * Whether the handler answered a valid webhook in the same way as a forged one. If the status is different, the
   * handler objects to the content.
   */
  isMistakenForForgery(verdict: CaseVerdict): boolean {
    const forged = this.verdicts.find(({ id }) => id === 'wrong-secret')
    if (!isLost(verdict)) return false
    if (forged === undefined || forged.reaction === 'taken' || forged.reaction === 'not_sent') {
      return verdict.reaction === 'refused'
    }
    return verdict.reaction === forged.reaction && verdict.status === forged.status
  }

  /** Returns the cases that the handler got wrong and that no finding explains yet. */
  wrong(matches: (verdict: CaseVerdict) => boolean = () => true): readonly CaseVerdict[] {
    return [...this.#unexplained].filter(matches)
  }

  wrongOf(ids: readonly string[]): readonly CaseVerdict[] {
    return this.wrong(({ id }) => ids.includes(id))
  }

  /** Makes the finding that explains the given cases. Returns an empty list if there are no cases. */
  explain(
    explained: readonly CaseVerdict[],
    [code, message, fix]: MistakeText,
  ): readonly HandlerFinding[] {
    if (explained.length === 0) return []
    for (const verdict of explained) this.#unexplained.delete(verdict)
    const cases = Object.freeze(explained.map(({ id }) => id))
    return [Object.freeze({ code, message, fix, cases })]
  }
}

/** Whether a valid webhook was not accepted. */
export function isLost({ expected, isRight }: CaseVerdict): boolean {
  return expected === 'taken' && !isRight
}

/** Whether a forged webhook was accepted. */
export function isForgedAndTaken({ expected, reaction }: CaseVerdict): boolean {
  return expected === 'refused' && reaction === 'taken'
}
