import { setImmediate as afterThisTurn } from 'node:timers'
import { stopwatch } from '../runtime/index.ts'

/** Real time that bodies may take of one turn of the event loop. */
const turnMsDefault = 10

/** A body up to this size is small: it never waits behind large ones. */
const smallBytesMax = 16 * 1024

/** How many small bodies are handled beside a large one. */
const smallAtOnce = 16

/** Turns between two large bodies. Node accepts one connection a turn, and new clients wait for that. */
const turnsApart = 4

/**
 * Spreads the handling of bodies over turns of the event loop, so that hundreds that arrive at once
 * don't hold up everybody's answers. When bodies used up a turn, the rest waits. Every fourth turn after
 * it handles one large body and some small ones, oldest first.
 */
export class BodyTurns {
  readonly #turnMs: number
  readonly #small: (() => void)[] = []
  readonly #large: (() => void)[] = []
  #elapsedMs: (() => number) | undefined
  #turnsLeft = 0

  /** @param turnMs - how long bodies may take of a turn */
  constructor(turnMs: number = turnMsDefault) {
    this.#turnMs = turnMs
  }

  /**
   * Asks for the turn of a body.
   *
   * @returns what to await before the body is handled; undefined if its turn is now
   */
  wait(bytes: number): Promise<void> | undefined {
    if (this.#elapsedMs === undefined) this.#begin()
    else if (this.#isAnyWaiting || this.#elapsedMs() >= this.#turnMs) {
      const queue = bytes <= smallBytesMax ? this.#small : this.#large
      return new Promise((resolve) => queue.push(resolve))
    }
    return undefined
  }

  get #isAnyWaiting(): boolean {
    return this.#small.length + this.#large.length > 0
  }

  #begin(): void {
    this.#elapsedMs = stopwatch()
    this.#turnsLeft = turnsApart
    afterThisTurn(() => this.#end())
  }

  #end(): void {
    this.#turnsLeft--
    if (this.#isAnyWaiting && this.#turnsLeft > 0) {
      afterThisTurn(() => this.#end())
      return
    }
    this.#elapsedMs = undefined
    if (!this.#isAnyWaiting) return
    this.#begin()
    for (const handle of this.#small.splice(0, smallAtOnce)) handle()
    this.#large.shift()?.()
  }
}
