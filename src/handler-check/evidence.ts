import type { FindingCode, HandlerFinding } from './finding.ts'
import type { CaseVerdict, Reaction } from './verdict.ts'

/** The texts about a handler's mistake: its code, what the handler does, and the fix. */
export type MistakeText = readonly [code: FindingCode, message: string, fix: string]

/** The verdicts of a check. Tracks the wrong verdicts that no finding explains yet. */
export class Evidence {
  readonly verdicts: readonly CaseVerdict[]
  readonly #unexplained: Set<CaseVerdict>

  constructor(verdicts: readonly CaseVerdict[]) {
    this.verdicts = verdicts
    this.#unexplained = new Set(verdicts.filter(({ isRight }) => !isRight))
  }

  /** Whether a case had a reaction. False if it was not part of the check. */
  had(id: string, reaction: Reaction): boolean {
    return this.verdicts.some((verdict) => verdict.id === id && verdict.reaction === reaction)
  }

  /** Whether a case had the reaction of a correct handler. False if it was not part of the check. */
  isRight(id: string): boolean {
    return this.verdicts.some((verdict) => verdict.id === id && verdict.isRight)
  }

  /**
   * Whether a valid webhook was refused with the same status as a forged one. A different status has a different
   * reason, such as a field that the handler doesn't know.
   */
  isMistakenForForgery(verdict: CaseVerdict): boolean {
    const forged = this.verdicts.find(({ id }) => id === 'wrong-secret')
    if (!isLost(verdict)) return false
    if (forged === undefined || forged.reaction === 'taken' || forged.reaction === 'not_sent') {
      return verdict.reaction === 'refused'
    }
    return verdict.reaction === forged.reaction && verdict.status === forged.status
  }

  /** Returns the wrong verdicts that no finding explains yet. */
  wrong(matches: (verdict: CaseVerdict) => boolean = () => true): readonly CaseVerdict[] {
    return [...this.#unexplained].filter(matches)
  }

  /** Returns the unexplained wrong verdicts on some cases. */
  wrongOf(ids: readonly string[]): readonly CaseVerdict[] {
    return this.wrong(({ id }) => ids.includes(id))
  }

  /** Makes the finding that explains these verdicts; none if there are no verdicts. */
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
export function isLost({ expected, isRight, reaction }: CaseVerdict): boolean {
  return expected === 'taken' && !isRight && reaction !== 'not_sent'
}

/** Whether a forged webhook was accepted. */
export function isForgedAndTaken({ expected, reaction }: CaseVerdict): boolean {
  return expected === 'refused' && reaction === 'taken'
}
