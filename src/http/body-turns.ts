import { setImmediate as afterThisTurn } from 'node:timers'
import { stopwatch } from '../runtime/index.ts'

/** How long one turn of the event loop may handle bodies, in real time. */
const turnMsDefault = 10

/** Size limit of a small body. Small bodies never wait behind large ones. */
const smallBytesMax = 16 * 1024

/** Maximum number of small bodies that are handled in the same turn as a large one. */
const smallAtOnce = 16

/** Turns of the event loop from one large body to the next. Node accepts a connection in each turn in between. */
const turnsApart = 4

/**
 * Spreads the handling of bodies over turns of the event loop, because hundreds at once would delay all other answers.
 * Bodies are handled at once until a turn has spent `turnMs` on them. The rest waits for later turns: every fourth turn
 * then handles one large body and some small ones.
 */
export class BodyTurns {
  readonly #turnMs: number
  readonly #small: (() => void)[] = []
  readonly #large: (() => void)[] = []
  #elapsedMs: (() => number) | undefined
  #turnsLeft = 0

  constructor(turnMs: number = turnMsDefault) {
    this.#turnMs = turnMs
  }

  /** Waits until a body may be handled. Returns undefined if it may be handled now. */
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
