import type { Mistake } from './mistake.ts'
import type { SuspectBody, SuspectRequest } from './suspect.ts'

/** What bodies are made from. */
export interface BodySource extends Pick<SuspectRequest, 'headers' | 'path'> {
  /** The body that was received. */
  readonly body: SuspectBody
}

/** A mistake about the body, and the bytes that are signed with it. */
export interface BodyRecipe {
  /** The mistake. */
  readonly mistake: Mistake
  /** The bytes that were signed, if it was this mistake: none where it cannot be, or a few guesses. */
  readonly bodies: (source: BodySource) => readonly Buffer[]
}
