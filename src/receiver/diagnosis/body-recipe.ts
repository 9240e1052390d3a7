import type { Mistake } from './mistake.ts'
import type { SuspectBody, SuspectRequest } from './suspect.ts'

/** The facts from which a recipe makes bodies. */
export interface BodySource extends Pick<SuspectRequest, 'headers' | 'path'> {
  /** The body that was received. */
  readonly body: SuspectBody
}

/** A mistake about the body, and the bytes that a sender signs by this mistake. */
export interface BodyRecipe {
  /** The mistake. */
  readonly mistake: Mistake
  /** Makes guesses of the signed bytes; none if the sender cannot have made this mistake. */
  readonly bodies: (source: BodySource) => readonly Buffer[]
}
