import type { Mistake } from './mistake.ts'
import type { SuspectBody, SuspectRequest } from './suspect.ts'

/** The facts from which a recipe guesses the signed bytes. */
export interface BodySource extends Pick<SuspectRequest, 'headers' | 'path'> {
  /** The body that was received. */
  readonly body: SuspectBody
}

/** A mistake with the body, and the bytes that a sender signs because of it. */
export interface BodyRecipe {
  /** The mistake. */
  readonly mistake: Mistake
  /** Guesses the signed bytes; empty if the sender cannot have made this mistake. */
  readonly bodies: (source: BodySource) => readonly Buffer[]
}
