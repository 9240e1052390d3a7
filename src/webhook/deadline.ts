import { systemClock, type Timer } from '../runtime/index.ts'

/**
 * The moment at which a request has taken too long, in real time. One thing at a time waits for it: less
 * than an AbortSignal, which costs as much as signing a body.
 */
export class Deadline {
  readonly #timer: Timer
  #isOver = false
  #whenOver: (() => void) | undefined

  /** @param timeMs - from now, in milliseconds */
  constructor(timeMs: number) {
    this.#timer = systemClock.schedule(timeMs, () => {
      this.#isOver = true
      this.#whenOver?.()
    })
  }

  /** Whether it has come. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Replaces the task that runs at the deadline. */
  whenOver(task: (() => void) | undefined): void {
    this.#whenOver = task
  }

  /** It does not come any more. */
  cancel(): void {
    this.#timer.cancel()
  }
}
